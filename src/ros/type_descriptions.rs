//! Serves `~/get_type_description`, as rclcpp and rclpy do: the descriptions of the types of the node's topics and
//! services.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use r2r::type_description_interfaces::{msg, srv};
use r2r::{QosProfile, WrappedServiceTypeSupport, WrappedTypesupport};
use r2r_rcl as rcl;

use super::rosidl::{describing, slice, text_of};
use super::{RosError, RosNode, answers};

type MessageSupport = &'static rcl::rosidl_message_type_support_t;
type ServiceSupport = &'static rcl::rosidl_service_type_support_t;

/// The types of a node's topics and services, including those of actions. Clones share them.
#[derive(Clone, Default, Debug)]
pub(super) struct TypeDescriptions(Arc<Mutex<Vec<Support>>>);

#[derive(Clone, Copy, Debug)]
enum Support {
    Message(MessageSupport),
    Service(ServiceSupport),
}

// SAFETY: they are static, and only the first call of a description writes to them, which `describing` guards.
unsafe impl Send for Support {}

impl Support {
    /// Whether both are the same type.
    fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Message(one), Self::Message(other)) => std::ptr::eq(one, other),
            (Self::Service(one), Self::Service(other)) => std::ptr::eq(one, other),
            _ => false,
        }
    }

    /// The hash of the type, in the format of REP 2016.
    fn hash(self) -> Option<String> {
        // SAFETY: each function is called with the type that it belongs to; its result is static.
        let hash = unsafe {
            match self {
                Self::Message(support) => support.get_type_hash_func?(support).as_ref()?,
                Self::Service(support) => support.get_type_hash_func?(support).as_ref()?,
            }
        };
        let digits: String = hash.value.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(format!("RIHS{:02}_{digits}", hash.version))
    }

    fn description(self) -> Option<msg::TypeDescription> {
        let _one_at_a_time = describing();
        // SAFETY: as above; the sequences of the result have the lengths that they state.
        unsafe {
            let description = match self {
                Self::Message(support) => support.get_type_description_func?(support).as_ref()?,
                Self::Service(support) => support.get_type_description_func?(support).as_ref()?,
            };
            let others = &description.referenced_type_descriptions;
            let others = slice(others.data, others.size);
            Some(msg::TypeDescription {
                type_description: individual(&description.type_description),
                referenced_type_descriptions: others.iter().map(|other| individual(other)).collect(),
            })
        }
    }

    fn sources(self) -> Option<Vec<msg::TypeSource>> {
        let _one_at_a_time = describing();
        // SAFETY: as above.
        unsafe {
            let sources = match self {
                Self::Message(support) => support.get_type_description_sources_func?(support).as_ref()?,
                Self::Service(support) => support.get_type_description_sources_func?(support).as_ref()?,
            };
            let sources = slice(sources.data, sources.size).iter();
            Some(
                sources
                    .map(|source| msg::TypeSource {
                        type_name: text_of(&source.type_name),
                        encoding: text_of(&source.encoding),
                        raw_file_contents: text_of(&source.raw_file_contents),
                    })
                    .collect(),
            )
        }
    }
}

/// # Safety
/// `description` is a part of a description made by rosidl.
unsafe fn individual(
    description: &rcl::rosidl_runtime_c__type_description__IndividualTypeDescription,
) -> msg::IndividualTypeDescription {
    // SAFETY: see above.
    unsafe {
        let fields = slice(description.fields.data, description.fields.size).iter();
        msg::IndividualTypeDescription {
            type_name: text_of(&description.type_name),
            fields: fields
                .map(|field| msg::Field {
                    name: text_of(&field.name),
                    type_: msg::FieldType {
                        type_id: field.type_.type_id,
                        capacity: field.type_.capacity,
                        string_capacity: field.type_.string_capacity,
                        nested_type_name: text_of(&field.type_.nested_type_name),
                    },
                    default_value: text_of(&field.default_value),
                })
                .collect(),
        }
    }
}

impl TypeDescriptions {
    /// Records the type of a topic.
    pub(super) fn note_message<T: WrappedTypesupport>(&self) {
        self.note(Support::Message(T::get_ts()));
    }

    /// Records the type of a service.
    pub(super) fn note_service<S: WrappedServiceTypeSupport>(&self) {
        self.note(Support::Service(S::get_ts()));
    }

    fn note(&self, support: Support) {
        let mut known = self.lock();
        if !known.iter().any(|other| other.is(support)) {
            known.push(support);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Support>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a request for a type.
    fn answer(&self, request: &srv::GetTypeDescription::Request) -> srv::GetTypeDescription::Response {
        self.find(request)
            .unwrap_or_else(|reason| srv::GetTypeDescription::Response {
                // It contains text of the client, and r2r panics on a zero byte.
                failure_reason: reason.replace('\0', "␀"),
                ..Default::default()
            })
    }

    fn find(
        &self,
        request: &srv::GetTypeDescription::Request,
    ) -> Result<srv::GetTypeDescription::Response, String> {
        let known = self.lock().clone();
        let wanted = &request.type_hash;
        let found = known
            .into_iter()
            .find(|support| support.hash().as_ref() == Some(wanted));
        let support =
            found.ok_or_else(|| format!("no topic or service of this node has the type hash `{wanted}`"))?;
        let type_description = support
            .description()
            .ok_or_else(|| format!("{} has no description", request.type_name))?;
        let name = &type_description.type_description.type_name;
        if *name != request.type_name {
            return Err(format!(
                "the type hash `{wanted}` is that of {name}, not of {}",
                request.type_name
            ));
        }
        let type_sources = match request.include_type_sources {
            true => support.sources().unwrap_or_default(),
            false => Vec::new(),
        };
        Ok(srv::GetTypeDescription::Response {
            successful: true,
            type_description,
            type_sources,
            ..Default::default()
        })
    }
}

/// Serves `~/get_type_description`.
///
/// # Errors
/// [`RosError::Entity`].
pub(super) fn serve(node: &mut RosNode) -> Result<(), RosError> {
    let types = node.types().clone();
    node.serve::<srv::GetTypeDescription::Service>(
        "~/get_type_description",
        QosProfile::services_default(),
        move |request, reply| {
            let response = types.answer(&request);
            answers::answer(reply, response);
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    type Log = r2r::diagnostic_msgs::msg::DiagnosticArray;

    fn asked(type_name: &str, type_hash: &str) -> srv::GetTypeDescription::Response {
        let types = TypeDescriptions::default();
        types.note_message::<Log>();
        types.note_message::<Log>();
        assert_eq!(types.lock().len(), 1, "each is noted once");
        types.answer(&srv::GetTypeDescription::Request {
            type_name: type_name.to_owned(),
            type_hash: type_hash.to_owned(),
            include_type_sources: true,
        })
    }

    #[test]
    fn a_known_type_is_described_with_its_sources_and_without_zero_bytes() {
        let name = "diagnostic_msgs/msg/DiagnosticArray";
        let answer = asked(name, &Support::Message(Log::get_ts()).hash().unwrap());
        assert!(answer.successful, "{}", answer.failure_reason);
        assert_eq!(answer.type_description.type_description.type_name, name);
        let source = &answer.type_sources[0].raw_file_contents;
        assert!(source.contains("DiagnosticStatus[] status"), "{source}");
        assert!(!format!("{answer:?}").contains("\\0"), "{answer:?}");
    }

    #[test]
    fn another_type_is_refused_with_a_reason() {
        let answer = asked("a/msg/B", "RIHS01_\0");
        assert!(!answer.successful);
        assert_eq!(
            answer.failure_reason,
            "no topic or service of this node has the type hash `RIHS01_␀`"
        );
    }
}
