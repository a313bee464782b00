//! The declaration of a parameter: its properties before it has a value.

use std::fmt;
use std::sync::Arc;

use super::{ParameterType, ParameterValue};

/// Checks a value before it is set. The error text goes to the client that sets the parameter. Called on the thread
/// that serves parameters. It may read files, and may keep their content for when the value is set.
pub type Validator = Arc<dyn Fn(&ParameterValue) -> Result<(), String> + Send + Sync>;

/// A range of numbers, including both ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// The minimum.
    pub from: f64,
    /// The maximum.
    pub to: f64,
    /// The distance between allowed values, from the minimum on; 0: any value in the range.
    pub step: f64,
}

/// A parameter: its name, its default, which determines the type, and its limits.
#[derive(Clone)]
pub struct Declaration {
    pub(super) name: String,
    pub(super) default: ParameterValue,
    pub(super) description: String,
    pub(super) details: String,
    pub(super) range: Option<Range>,
    pub(super) read_only: bool,
    pub(super) constraints: String,
    pub(super) validator: Option<Validator>,
}

impl Declaration {
    /// A parameter with any value of the default's type. The first line of `text` is the description, and the rest is
    /// shown on the page of the parameters only.
    pub fn new(name: &str, default: impl Into<ParameterValue>, text: &str) -> Self {
        let (description, details) = text.split_once('\n').unwrap_or((text, ""));
        Self {
            name: name.to_owned(),
            default: default.into(),
            description: description.to_owned(),
            details: details.to_owned(),
            range: None,
            read_only: false,
            constraints: String::new(),
            validator: None,
        }
    }

    /// Limits the values to the range between two numbers.
    #[must_use]
    pub fn within(mut self, from: f64, to: f64) -> Self {
        self.range = Some(Range { from, to, step: 0.0 });
        self
    }

    /// Makes the parameter read-only: set when the node starts, and not changed later.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Limits the values to those that `validator` accepts; `constraints` describes them.
    #[must_use]
    pub fn validated(
        mut self,
        constraints: &str,
        validator: impl Fn(&ParameterValue) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.constraints = constraints.to_owned();
        self.validator = Some(Arc::new(validator));
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One line: what the parameter does, with its unit.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The text that only the page of the parameters shows; often empty.
    pub fn details(&self) -> &str {
        &self.details
    }

    /// The default value.
    pub fn default_value(&self) -> &ParameterValue {
        &self.default
    }

    /// The range of its numbers.
    pub fn range(&self) -> Option<Range> {
        self.range
    }

    /// Whether the value is set when the node starts, and not changed later.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The type of its values.
    pub fn parameter_type(&self) -> ParameterType {
        self.default.parameter_type()
    }

    /// Checks a value against the declaration, without the validator.
    pub(super) fn check(&self, value: &ParameterValue) -> Result<(), String> {
        let (wanted, got) = (self.parameter_type(), value.parameter_type());
        if wanted != got && wanted != ParameterType::NotSet {
            return Err(format!(
                "parameter `{}` is of type {wanted}, not {got}",
                self.name
            ));
        }
        if let (Some(range), Some(number)) = (self.range, value.as_double())
            && !range.contains(number)
        {
            return Err(format!(
                "parameter `{}` is {number}, outside of {} to {}",
                self.name, range.from, range.to
            ));
        }
        Ok(())
    }
}

impl Range {
    fn contains(&self, number: f64) -> bool {
        let inside = number >= self.from && number <= self.to;
        let steps = (number - self.from) / self.step;
        inside && (self.step == 0.0 || (steps - steps.round()).abs() < 1e-9)
    }
}

impl fmt::Debug for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declaration")
            .field("name", &self.name)
            .field("default", &self.default)
            .finish_non_exhaustive()
    }
}
