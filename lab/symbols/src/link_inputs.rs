//! What a linker is given: object files and archives of them, with the names of their sections.

use object::read::archive::ArchiveFile;
use object::{Object, ObjectKind, ObjectSection};

/// An object file, or a member of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkInput {
    /// The name of the archive's member; `None` of an object file.
    pub member: Option<String>,
    /// The names of its sections, in their order. Those that are not UTF-8 are left out.
    pub sections: Vec<String>,
}

/// The object files in a file's bytes. Empty if it is neither an object file nor an archive. `read`: the bytes of a member of a thin archive, which is another file, by
/// its path from the archive; members that cannot be read are left out.
pub fn link_inputs(bytes: &[u8], read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<LinkInput> {
    let Ok(archive) = ArchiveFile::parse(bytes) else { return input(None, bytes).into_iter().collect() };
    let member = |member: object::read::archive::ArchiveMember<'_>| {
        let name = String::from_utf8(member.name().to_owned()).ok()?;
        match member.is_thin() {
            true => read(&name).and_then(|bytes| input(Some(name), &bytes)),
            false => input(Some(name), member.data(bytes).ok()?),
        }
    };
    archive.members().filter_map(Result::ok).filter_map(member).collect()
}

fn input(member: Option<String>, bytes: &[u8]) -> Option<LinkInput> {
    let file = object::File::parse(bytes).ok().filter(|file| file.kind() == ObjectKind::Relocatable)?;
    let sections = file.sections().filter_map(|section| section.name().ok().map(str::to_owned)).collect();
    Some(LinkInput { member, sections })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn objects_and_archives_have_sections_and_programs_have_none() {
        let directory = tempfile::tempdir().unwrap();
        let run = |program: &str, arguments: &[&str]| {
            assert!(Command::new(program).current_dir(directory.path()).args(arguments).status().unwrap().success());
        };
        let bytes = |name: &str| std::fs::read(directory.path().join(name)).ok();
        let read = |name: &str| link_inputs(&bytes(name).unwrap(), &bytes);
        std::fs::write(directory.path().join("a.c"), "int f(void) { return 1; }\nint main(void) { return f(); }\n")
            .unwrap();
        run("cc", &["-c", "-ffunction-sections", "a.c"]);
        run("ar", &["rc", "liba.a", "a.o"]);
        run("cc", &["-o", "prog", "a.o"]);
        let [object] = &read("a.o")[..] else { panic!("one object") };
        assert!(object.member.is_none() && object.sections.iter().any(|section| section == ".text.f"), "{object:?}");
        let [member] = &read("liba.a")[..] else { panic!("one member") };
        assert_eq!((member.member.as_deref(), &member.sections), (Some("a.o"), &object.sections));
        run("ar", &["rcT", "thin.a", "a.o"]);
        assert_eq!(read("thin.a"), read("liba.a"));
        std::fs::remove_file(directory.path().join("a.o")).unwrap();
        assert!(read("thin.a").is_empty() && read("prog").is_empty());
        assert!([&b""[..], b"!<arch>\ngarbage"].iter().all(|none| link_inputs(none, &bytes).is_empty()));
    }
}
