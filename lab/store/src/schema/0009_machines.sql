-- A machine is JSON (Machine): data, which hold any path. Those of older runs remain texts as in `--on`, which Machine is read from too.
UPDATE subject SET machine = json_quote(machine);
