//! What a tree may do and most likely does not want.

use super::problem::Problem;
use super::scope::Scopes;

/// Looks a compiled tree over.
pub(crate) fn lint(_scopes: &Scopes, _problems: &mut Vec<Problem>) {}
