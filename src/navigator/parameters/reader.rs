//! Reads the values of parameters by their types.

use std::time::Duration;

use crate::ros::{Declaration, ParameterError, ParameterStore, ParameterValue};

/// Declares read-only parameters and returns their values.
pub(super) struct Reader<'s>(pub(super) &'s ParameterStore);

impl Reader<'_> {
    pub(super) fn value(&self, declaration: Declaration) -> Result<ParameterValue, ParameterError> {
        self.0.declare(declaration)
    }

    pub(super) fn text(&self, name: &str, default: &str, doc: &str) -> Result<String, ParameterError> {
        let value = self.value(Declaration::new(name, default.to_owned(), doc).read_only())?;
        Ok(value.as_str().unwrap_or(default).to_owned())
    }

    pub(super) fn flag(&self, name: &str, default: bool, doc: &str) -> Result<bool, ParameterError> {
        let value = self.value(Declaration::new(name, default, doc).read_only())?;
        Ok(value.as_bool().unwrap_or(default))
    }

    pub(super) fn number(
        &self,
        name: &str,
        default: f64,
        range: (f64, f64),
        doc: &str,
    ) -> Result<f64, ParameterError> {
        let declaration = Declaration::new(name, default, doc)
            .within(range.0, range.1)
            .read_only();
        Ok(self.value(declaration)?.as_double().unwrap_or(default))
    }

    pub(super) fn milliseconds(
        &self,
        name: &str,
        default: i64,
        doc: &str,
    ) -> Result<Duration, ParameterError> {
        self.milliseconds_from(1, name, default, doc)
    }

    pub(super) fn milliseconds_from(
        &self,
        least: u32,
        name: &str,
        default: i64,
        doc: &str,
    ) -> Result<Duration, ParameterError> {
        let declaration = Declaration::new(name, default, doc)
            .within(f64::from(least), 3_600_000.0)
            .read_only();
        let value = self.value(declaration)?.as_integer().unwrap_or(default);
        Ok(Duration::from_millis(
            u64::try_from(value).unwrap_or(least.into()),
        ))
    }

    pub(super) fn texts(
        &self,
        name: &str,
        default: &[String],
        doc: &str,
    ) -> Result<Vec<String>, ParameterError> {
        let declaration =
            Declaration::new(name, ParameterValue::StringArray(default.to_vec()), doc).read_only();
        Ok(self
            .value(declaration)?
            .as_strings()
            .map_or_else(Vec::new, <[String]>::to_vec))
    }
}
