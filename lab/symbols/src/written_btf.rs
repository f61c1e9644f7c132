//! BTF written by hand, for tests.

/// Kinds of types in BTF.
const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const TYPEDEF: u32 = 8;
const VARIABLE: u32 = 14;

/// A member: name, type, offset in bytes.
pub(crate) type Declared<'a> = (&'a str, u32, u32);

/// A builder of BTF. Types are numbered from 1.
#[derive(Default)]
pub(crate) struct Written {
    types: Vec<u8>,
    names: Vec<u8>,
    count: u32,
}

impl Written {
    pub(crate) fn new() -> Self {
        Written { names: vec![0], ..Written::default() }
    }

    fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let at = self.names.len() as u32;
        self.names.extend(name.bytes().chain([0]));
        at
    }

    fn put(&mut self, name: &str, info: u32, size_or_type: u32, more: &[u32]) -> u32 {
        let name = self.name(name);
        for word in [name, info, size_or_type].iter().chain(more) {
            self.types.extend(word.to_le_bytes());
        }
        self.count += 1;
        self.count
    }

    pub(crate) fn int(&mut self, name: &str, bytes: u32) -> u32 {
        self.put(name, INT << 24, bytes, &[8 * bytes])
    }

    pub(crate) fn pointer(&mut self, to: u32) -> u32 {
        self.put("", POINTER << 24, to, &[])
    }

    pub(crate) fn array(&mut self, of: u32, count: u32) -> u32 {
        self.put("", ARRAY << 24, 0, &[of, 1, count])
    }

    pub(crate) fn other_name(&mut self, name: &str, of: u32) -> u32 {
        self.put(name, TYPEDEF << 24, of, &[])
    }

    pub(crate) fn variable(&mut self, name: &str, of: u32) -> u32 {
        self.put(name, VARIABLE << 24, of, &[1])
    }

    pub(crate) fn structure(&mut self, name: &str, bytes: u32, members: &[Declared<'_>]) -> u32 {
        self.members(STRUCT, name, bytes, members)
    }

    pub(crate) fn union(&mut self, name: &str, bytes: u32, members: &[Declared<'_>]) -> u32 {
        self.members(UNION, name, bytes, members)
    }

    fn members(&mut self, kind: u32, name: &str, bytes: u32, members: &[Declared<'_>]) -> u32 {
        let words: Vec<u32> =
            members.iter().flat_map(|&(name, of, offset)| [self.name(name), of, 8 * offset]).collect();
        self.put(name, kind << 24 | members.len() as u32, bytes, &words)
    }

    /// A structure of bit fields: name, type, first bit, bits.
    pub(crate) fn bit_fields(&mut self, name: &str, bytes: u32, fields: &[(&str, u32, u32, u32)]) -> u32 {
        let words: Vec<u32> =
            fields.iter().flat_map(|&(name, of, bit, bits)| [self.name(name), of, bits << 24 | bit]).collect();
        self.put(name, 1 << 31 | STRUCT << 24 | fields.len() as u32, bytes, &words)
    }

    /// The BTF as a kernel has it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (types, names) = (self.types.len() as u32, self.names.len() as u32);
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, types, types, names] {
            bytes.extend(word.to_le_bytes());
        }
        [bytes, self.types.clone(), self.names.clone()].concat()
    }
}
