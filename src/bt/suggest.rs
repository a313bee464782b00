//! "Did you mean".

/// The candidate nearest to `name`, if one is near enough to be a slip: at most a third of its letters differ.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let most = name.chars().count().div_ceil(3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate, most), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edits, swaps of neighbours counted once, case ignored; anything beyond `most` is `most + 1`.
fn distance(a: &str, b: &str, most: usize) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    if a.len().abs_diff(b.len()) > most {
        return most + 1;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1; b.len() + 1];
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            next[j + 1] = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                next[j + 1] = next[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let ids = ["Sequence", "Fallback", "FollowPath", "Wait"];
        assert_eq!(nearest("Sequense", ids), Some("Sequence"));
        assert_eq!(nearest("followpath", ids), Some("FollowPath"));
        assert_eq!(nearest("Wiat", ids), Some("Wait"));
        assert_eq!(nearest("ComputePathToPose", ids), None);
    }
}
