# Faultline's release as a Nix package, and a shell with the tools to build it from source.
#
#   nix run .            the released command, with workloads, emulator, kernel and plugin
#   nix develop          Rust, Node.js, Python, a C compiler with a static C library
#
# packages/release/released.json has the newest release's address and digests, because a commit
# cannot contain the digest of an archive that is built from it.
{
  description = "Does this system scale, why not, and since which commit?";

  inputs.nixpkgs.url = "nixpkgs";

  outputs = { self, nixpkgs }:
    let
      released = builtins.fromJSON (builtins.readFile ./packages/release/released.json);
      onEach = systems: make: nixpkgs.lib.genAttrs systems (system: make system nixpkgs.legacyPackages.${system});
    in
    {
      packages = onEach (builtins.attrNames released.systems) (system: pkgs: {
        default = pkgs.stdenvNoCC.mkDerivation {
          pname = "faultline";
          version = released.version;
          src = pkgs.fetchurl { inherit (released.systems.${system}) url hash; };
          # The programs are static or bring their libraries, which must stay as they are.
          dontBuild = true;
          dontFixup = true;
          installPhase = "mkdir $out && cp -R bin libexec share $out/";
          meta = {
            mainProgram = "faultline";
            platforms = builtins.attrNames released.systems;
            license = with pkgs.lib.licenses; [ mit asl20 gpl2Plus gpl2Only lgpl21Plus ];
          };
        };
      });

      devShells = onEach [ "x86_64-linux" "aarch64-linux" ] (system: pkgs: {
        default = pkgs.mkShell {
          packages = with pkgs; [ cargo rustc clippy rustfmt nodejs python3 git gnumake ];
          buildInputs = [ pkgs.glibc.static ];
        };
      });
    };
}
