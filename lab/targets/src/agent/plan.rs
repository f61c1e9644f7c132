//! What the agent does in one boot of a guest, or in one execution on a host (docs/FORMATS.md, "A guest's plan").

/// Commands for the agent, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan(Vec<Vec<String>>);

impl Plan {
    /// Adds a command; its words must not contain NUL characters.
    pub(crate) fn add<W: AsRef<str>>(&mut self, words: &[W]) {
        self.0.push(words.iter().map(|word| word.as_ref().to_owned()).collect());
    }

    /// Each command as the number of its words, then the words; each ended by NUL.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for command in &self.0 {
            let count = command.len().to_string();
            for word in [&count].into_iter().chain(command) {
                bytes.extend_from_slice(word.as_bytes());
                bytes.push(0);
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_may_be_empty_or_hold_anything_but_nul() {
        let mut plan = Plan::default();
        plan.add(&["run", "/bin/x", "", "a b\nc"]);
        plan.add(&["symbols"]);
        assert_eq!(plan.bytes(), b"4\0run\0/bin/x\0\0a b\nc\x001\0symbols\0");
    }
}
