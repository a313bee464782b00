//! What is said of a parameter before it has a value.

use std::fmt;
use std::sync::Arc;

use super::{ParameterType, ParameterValue};

/// Looks at a value before it is taken: the text of the error goes to whoever wanted to set it. Called on the thread
/// that serves parameters; it may read files, and it may keep what it made of them for when the value is taken.
pub type Validator = Arc<dyn Fn(&ParameterValue) -> Result<(), String> + Send + Sync>;

/// A range of numbers, ends included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// The least.
    pub from: f64,
    /// The greatest.
    pub to: f64,
    /// Between two allowed values, from the least on; 0: anything in between.
    pub step: f64,
}

/// A parameter: its name, its default, which gives it its type, and what it may be.
#[derive(Clone)]
pub struct Declaration {
    pub(super) name: String,
    pub(super) default: ParameterValue,
    pub(super) description: String,
    pub(super) range: Option<Range>,
    pub(super) read_only: bool,
    pub(super) constraints: String,
    pub(super) validator: Option<Validator>,
}

impl Declaration {
    /// A parameter that can be anything of the default's type.
    pub fn new(name: &str, default: impl Into<ParameterValue>, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            default: default.into(),
            description: description.to_owned(),
            range: None,
            read_only: false,
            constraints: String::new(),
            validator: None,
        }
    }

    /// Only numbers from one to another.
    #[must_use]
    pub fn within(mut self, from: f64, to: f64) -> Self {
        self.range = Some(Range { from, to, step: 0.0 });
        self
    }

    /// Set when the node starts, and then never.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Only what `validator` does not refuse; `constraints` says in words what that is.
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

    /// What it is and does, with its unit.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its value where nobody gives one.
    pub fn default_value(&self) -> &ParameterValue {
        &self.default
    }

    /// What its numbers may be.
    pub fn range(&self) -> Option<Range> {
        self.range
    }

    /// Whether it is set when the node starts, and then never.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The type of its values.
    pub fn parameter_type(&self) -> ParameterType {
        self.default.parameter_type()
    }

    /// Whether it may have this value, as far as the declaration tells without asking the validator.
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
