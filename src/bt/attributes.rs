//! The attributes of all nodes of a definition, in one text. A tree of a million nodes does not need a million small
//! strings.

use std::ops::Range;

/// Names and values, concatenated.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    text: String,
    /// The end of the name and the end of the value of each attribute. An attribute starts at the end of the previous
    /// one. The compiler's text limit keeps these within 32 bits.
    ends: Vec<[u32; 2]>,
}

impl Attributes {
    /// Adds the attributes of one node and returns their range.
    pub(crate) fn add<'a>(&mut self, attributes: impl Iterator<Item = (&'a str, &'a str)>) -> Range<u32> {
        let start = self.ends.len() as u32;
        for (name, value) in attributes {
            self.text.push_str(name);
            let name_end = self.text.len() as u32;
            self.text.push_str(value);
            self.ends.push([name_end, self.text.len() as u32]);
        }
        start..self.ends.len() as u32
    }

    /// The name and value of each attribute of one node.
    pub(crate) fn get(&self, range: Range<u32>) -> impl ExactSizeIterator<Item = (&str, &str)> {
        let first = range.start as usize;
        self.ends[first..range.end as usize]
            .iter()
            .enumerate()
            .map(move |(offset, [name_end, value_end])| {
                let before = (first + offset).checked_sub(1);
                let start = before.map_or(0, |before| self.ends[before][1] as usize);
                let name_end = *name_end as usize;
                (
                    &self.text[start..name_end],
                    &self.text[name_end..*value_end as usize],
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::Attributes;

    #[test]
    fn each_node_gets_its_own_attributes() {
        let mut attributes = Attributes::default();
        let nodes: [&[(&str, &str)]; 4] = [&[("a", "1"), ("b", "")], &[], &[("", "")], &[("é", "{x}")]];
        let places = nodes.map(|node| attributes.add(node.iter().copied()));
        for (node, place) in nodes.into_iter().zip(places) {
            assert_eq!(attributes.get(place).collect::<Vec<_>>(), node);
        }
    }
}
