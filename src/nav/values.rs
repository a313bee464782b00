//! Messages as blackboard values: Nav2's text forms, `json:`, and their export.
//!
//! Reading: `x;y;z` and similar forms without trimming, as BehaviorTree.CPP splits them, or `json:{…}` with the field
//! names of the interface. Missing fields get their defaults. Unknown fields and a `__type` of another interface are
//! refused. Writing: the same JSON with `__type` on the outermost object, as BehaviorTree.CPP's exporter does.

use std::any::TypeId;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::strict_json;
use crate::bt::{Family, PortValue, TypeInfo, Value};
use crate::msg::duration::RosDuration;
use crate::msg::{
    BatteryState, Goals, Header, Odometry, Path, Point, Pose, PoseStamped, Quaternion, Route, Stamp,
    TrackingFeedback, TransformStamped, Twist, WaypointStatuses,
};
use crate::object;

/// A whole number of milliseconds: `std::chrono::milliseconds` in Nav2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Milliseconds(pub u64);

impl From<Milliseconds> for Duration {
    fn from(milliseconds: Milliseconds) -> Self {
        Self::from_millis(milliseconds.0)
    }
}

impl PortValue for Milliseconds {
    const TYPE: &'static TypeInfo = &TypeInfo {
        name: "milliseconds",
        cpp_name: "std::chrono::milliseconds",
        id: TypeId::of::<Milliseconds>(),
        parse: |text, _| parse_milliseconds(text).map(PortValue::into_value),
        family: Family::Integer {
            least: 0,
            greatest: i64::MAX as i128,
        },
    };

    fn from_value(value: &Value) -> Result<Self, String> {
        u64::from_value(value).map(Self)
    }

    fn into_value(self) -> Value {
        self.0.into_value()
    }
}

/// Fields of the interface that [`BatteryState`] does not contain.
const BATTERY_LEFT_OUT: &[&str] = &[
    "temperature",
    "design_capacity",
    "power_supply_technology",
    "cell_voltage",
    "cell_temperature",
    "location",
    "serial_number",
];

/// `10000`, and `123.4` as 123; or `json:10000` or `json:{"ms":10000}`.
fn parse_milliseconds(text: &str) -> Result<Milliseconds, String> {
    let refuse = || format!("`{text}` is not a number of milliseconds");
    if let Some(json) = text.strip_prefix("json:") {
        let value: serde_json::Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let number = value.get("ms").unwrap_or(&value).as_u64();
        return number.map(Milliseconds).ok_or_else(refuse);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().map(Milliseconds).map_err(|_| refuse())
}

/// Reads `json:…`. `None` if the text does not have this form.
fn from_json<T: DeserializeOwned + Serialize>(
    text: &str,
    type_name: &str,
    left_out: &[&str],
) -> Option<Result<T, String>> {
    let json = text.strip_prefix("json:")?;
    let read = strict_json::read(json, type_name, left_out);
    Some(read.map_err(|error| format!("json: {error}")))
}

/// Reads a type that has only the JSON form and omits some fields of its interface.
fn only_json<T: DeserializeOwned + Serialize>(
    text: &str,
    type_name: &str,
    left_out: &[&str],
) -> Result<T, String> {
    from_json(text, type_name, left_out).unwrap_or_else(|| Err("has only the text form `json:…`".to_owned()))
}

fn to_json<T: Serialize>(value: &T, type_name: &str) -> serde_json::Value {
    let mut json = serde_json::to_value(value).unwrap_or_default();
    if let Some(object) = json.as_object_mut() {
        object.insert("__type".to_owned(), type_name.into());
    }
    json
}

fn list_to_json<T: Serialize>(values: &[T], type_name: &str) -> serde_json::Value {
    values.iter().map(|value| to_json(value, type_name)).collect()
}

/// Splits `a;b;c`. A trailing separator is ignored; an empty text has no parts.
fn parts(text: &str) -> Vec<&str> {
    let text = text.strip_suffix(';').unwrap_or(text);
    if text.is_empty() {
        Vec::new()
    } else {
        text.split(';').collect()
    }
}

fn wrong_count(what: &str, wanted: &str, given: usize) -> String {
    format!("{what} is written as {wanted}, but this text has {given} fields")
}

fn real(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

fn stamp(text: &str) -> Result<Stamp, String> {
    let nanoseconds = text
        .parse()
        .map_err(|_| format!("`{text}` is not a number of nanoseconds"))?;
    Ok(Stamp::from_nanos(nanoseconds))
}

fn frame_id(text: &str) -> Result<&str, String> {
    if text.contains('\0') {
        return Err(strict_json::ZERO_BYTE.to_owned());
    }
    Ok(text)
}

fn point(parts: &[&str]) -> Result<Point, String> {
    match parts {
        [x, y, z] => Ok(Point {
            x: real(x)?,
            y: real(y)?,
            z: real(z)?,
        }),
        _ => Err(wrong_count("a point", "x;y;z", parts.len())),
    }
}

fn quaternion(parts: &[&str]) -> Result<Quaternion, String> {
    match parts {
        [x, y, z, w] => Ok(Quaternion {
            x: real(x)?,
            y: real(y)?,
            z: real(z)?,
            w: real(w)?,
        }),
        _ => Err(wrong_count("a quaternion", "x;y;z;w", parts.len())),
    }
}

fn pose_stamped(parts: &[&str]) -> Result<PoseStamped, String> {
    match parts {
        [time, frame, rest @ ..] if rest.len() == 7 => Ok(PoseStamped {
            header: Header::new(stamp(time)?, frame_id(frame)?),
            pose: Pose {
                position: point(&rest[..3])?,
                orientation: quaternion(&rest[3..])?,
            },
        }),
        _ => Err(wrong_count(
            "a pose",
            "stamp_ns;frame;x;y;z;qx;qy;qz;qw",
            parts.len(),
        )),
    }
}

fn poses(what: &str, parts: &[&str]) -> Result<Vec<PoseStamped>, String> {
    if !parts.len().is_multiple_of(9) {
        return Err(wrong_count(what, "nine fields for each pose", parts.len()));
    }
    parts.chunks(9).map(pose_stamped).collect()
}

/// Nav2 of Jazzy writes the stamp of each pose into the header of the path; navtree writes it into the pose.
fn path(parts: &[&str]) -> Result<Path, String> {
    match parts {
        [time, frame, rest @ ..] => Ok(Path {
            header: Header::new(stamp(time)?, frame_id(frame)?),
            poses: poses("a path (after stamp_ns;frame)", rest)?,
        }),
        _ => Err(wrong_count(
            "a path",
            "stamp_ns;frame and nine fields for each pose",
            parts.len(),
        )),
    }
}

fn json_or<T: DeserializeOwned + Serialize>(
    text: &str,
    type_name: &str,
    read: fn(&[&str]) -> Result<T, String>,
) -> Result<T, String> {
    from_json(text, type_name, &[]).unwrap_or_else(|| read(&parts(text)))
}

object!(
    Point,
    "geometry_msgs/Point",
    "geometry_msgs::msg::Point",
    |text| json_or(text, "geometry_msgs::msg::Point", point),
    |value| to_json(value, "geometry_msgs::msg::Point")
);
object!(
    Quaternion,
    "geometry_msgs/Quaternion",
    "geometry_msgs::msg::Quaternion",
    |text| json_or(text, "geometry_msgs::msg::Quaternion", quaternion),
    |value| to_json(value, "geometry_msgs::msg::Quaternion")
);
object!(
    PoseStamped,
    "geometry_msgs/PoseStamped",
    "geometry_msgs::msg::PoseStamped",
    |text| json_or(text, "geometry_msgs::msg::PoseStamped", pose_stamped),
    |value| to_json(value, "geometry_msgs::msg::PoseStamped")
);
object!(
    Goals,
    "list<geometry_msgs/PoseStamped>",
    "std::vector<geometry_msgs::msg::PoseStamped>",
    |text| json_or(text, "geometry_msgs::msg::PoseStamped", |parts| poses(
        "a list of poses",
        parts
    )
    .map(Goals)),
    |value| list_to_json(&value.0, "geometry_msgs::msg::PoseStamped")
);
object!(
    Path,
    "nav_msgs/Path",
    "nav_msgs::msg::Path",
    |text| json_or(text, "nav_msgs::msg::Path", path),
    |value| to_json(value, "nav_msgs::msg::Path")
);
object!(
    Pose,
    "geometry_msgs/Pose",
    "geometry_msgs::msg::Pose",
    |text| only_json(text, "geometry_msgs::msg::Pose", &[]),
    |value| to_json(value, "geometry_msgs::msg::Pose")
);
object!(
    Twist,
    "geometry_msgs/Twist",
    "geometry_msgs::msg::Twist",
    |text| only_json(text, "geometry_msgs::msg::Twist", &[]),
    |value| to_json(value, "geometry_msgs::msg::Twist")
);
object!(
    Header,
    "std_msgs/Header",
    "std_msgs::msg::Header",
    |text| only_json(text, "std_msgs::msg::Header", &[]),
    |value| to_json(value, "std_msgs::msg::Header")
);
object!(
    Stamp,
    "builtin_interfaces/Time",
    "builtin_interfaces::msg::Time",
    |text| only_json(text, "builtin_interfaces::msg::Time", &[]),
    |value| to_json(value, "builtin_interfaces::msg::Time")
);
object!(
    RosDuration,
    "builtin_interfaces/Duration",
    "builtin_interfaces::msg::Duration",
    |text| only_json(text, "builtin_interfaces::msg::Duration", &[]),
    |value| to_json(value, "builtin_interfaces::msg::Duration")
);
object!(
    Odometry,
    "nav_msgs/Odometry",
    "nav_msgs::msg::Odometry",
    |text| only_json(text, "nav_msgs::msg::Odometry", &["covariance"]),
    |value| to_json(value, "nav_msgs::msg::Odometry")
);
object!(
    TransformStamped,
    "geometry_msgs/TransformStamped",
    "geometry_msgs::msg::TransformStamped",
    |text| only_json(text, "geometry_msgs::msg::TransformStamped", &[]),
    |value| to_json(value, "geometry_msgs::msg::TransformStamped")
);
object!(
    BatteryState,
    "sensor_msgs/BatteryState",
    "sensor_msgs::msg::BatteryState",
    |text| only_json(text, "sensor_msgs::msg::BatteryState", BATTERY_LEFT_OUT),
    |value| to_json(value, "sensor_msgs::msg::BatteryState")
);
object!(
    Route,
    "nav2_msgs/Route",
    "nav2_msgs::msg::Route",
    |text| only_json(text, "nav2_msgs::msg::Route", &[]),
    |value| to_json(value, "nav2_msgs::msg::Route")
);
object!(
    TrackingFeedback,
    "nav2_msgs/TrackingFeedback",
    "nav2_msgs::msg::TrackingFeedback",
    |text| only_json(text, "nav2_msgs::msg::TrackingFeedback", &[]),
    |value| to_json(value, "nav2_msgs::msg::TrackingFeedback")
);
object!(
    WaypointStatuses,
    "list<nav2_msgs/WaypointStatus>",
    "std::vector<nav2_msgs::msg::WaypointStatus>",
    |text| only_json(text, "nav2_msgs::msg::WaypointStatus", &[]),
    |value| list_to_json(&value.0, "nav2_msgs::msg::WaypointStatus")
);

/// A duration as the message for the blackboard.
pub fn duration_value(duration: Duration) -> Arc<RosDuration> {
    Arc::new(duration.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::{Enums, List};

    fn parsed<T: PortValue>(text: &str) -> Result<T, String> {
        (T::TYPE.parse)(text, &Enums::default()).and_then(|value| T::from_value(&value))
    }

    fn round_trip<T>(text: &str)
    where
        T: crate::bt::Object + PartialEq,
        Arc<T>: PortValue,
    {
        let value: Arc<T> = parsed(text).unwrap();
        let again: Arc<T> = parsed(&format!("json:{}", value.to_json())).unwrap();
        assert_eq!(value, again);
    }

    // test_bt_utils
    #[test]
    fn wrong_field_counts_are_refused() {
        for text in ["", "1;2", "1;2;3;4", "a;2;3", " 1;2;3"] {
            assert!(parsed::<Arc<Point>>(text).is_err(), "{text}");
        }
        for text in ["1;2;3", "1;2;3;4;5"] {
            assert!(parsed::<Arc<Quaternion>>(text).is_err(), "{text}");
        }
        for text in [
            "0;map;1;2;3;4;5;6",
            "0;map;1;2;3;4;5;6;7;8",
            "x;map;1;2;3;4;5;6;7",
        ] {
            assert!(parsed::<Arc<PoseStamped>>(text).is_err(), "{text}");
            assert!(parsed::<Arc<Goals>>(text).is_err(), "{text}");
        }
        for text in ["", "0", "0;map;1", "0;map;0;map;1;2;3;4;5;6"] {
            assert!(parsed::<Arc<Path>>(text).is_err(), "{text}");
        }
    }

    /// A leaf with one port of each type that has a text form.
    struct Everything;

    impl crate::bt::Node for Everything {
        const ID: &'static str = "Everything";
        const KIND: crate::bt::NodeKind = crate::bt::NodeKind::Action;
        const DOC: &'static str = "Takes what it is given.";

        fn bind(ports: &mut crate::bt::Ports<'_>) -> Self {
            ports.input::<Arc<Point>>("point").bind();
            ports.input::<Arc<Quaternion>>("quaternion").bind();
            ports.input::<Arc<PoseStamped>>("pose").bind();
            ports.input::<Arc<Goals>>("goals").bind();
            ports.input::<Arc<Path>>("path").bind();
            ports.input::<Milliseconds>("milliseconds").bind();
            ports.input::<Arc<List<i64>>>("set").bind();
            Self
        }
    }

    impl crate::bt::Behavior for Everything {
        fn tick(&self, _cx: &mut crate::bt::Context<'_>) -> crate::bt::Tick {
            Ok(crate::bt::NodeStatus::Success)
        }
    }

    fn refusal(attribute: &str) -> Option<String> {
        let mut registry = crate::bt::Registry::builtin();
        registry.register::<Everything>().unwrap();
        let text = format!(
            "<root BTCPP_format=\"4\">\n<BehaviorTree ID=\"T\">\n<Everything {attribute}/></BehaviorTree></root>"
        );
        let loaded =
            crate::xml::Loader::new(&registry).load_text("t.xml", &text, std::path::Path::new("."), None);
        loaded.err().map(|refused| refused.one_line())
    }

    // test_bt_utils
    #[test]
    fn wrong_field_counts_refuse_the_tree_with_the_place() {
        for attribute in [
            "point=\"1;2\"",
            "point=\"1;2;3;4\"",
            "quaternion=\"1;2;3\"",
            "quaternion=\"1;2;3;4;5\"",
            "pose=\"0;map;1;2;3;4;5;6\"",
            "pose=\"0;map;1;2;3;4;5;6;7;8\"",
            "goals=\"0;map;1;2;3;4;5;6;7;0;map\"",
            "path=\"0\"",
            "path=\"0;map;0;map;1;2;3;4;5;6\"",
            "milliseconds=\"soon\"",
            "pose='json:{\"headr\":{\"frame_id\":\"map\"}}'",
            "pose='json:{\"__type\":\"nav_msgs::msg::Path\"}'",
            "goals='json:[{\"header\":{},\"pos\":{}}]'",
            "path='json:{\"poses\":[{\"pose\":{\"position\":{\"X\":1}}}]}'",
            "point='json:[1,2,3]'",
            "set=\"1;x\"",
        ] {
            let refusal = refusal(attribute).unwrap();
            let port = attribute.split('=').next().unwrap();
            assert!(refusal.starts_with("t.xml:3:"), "{refusal}");
            assert!(refusal.contains(port), "{refusal}");
        }
        for attribute in [
            "point=\"1;2;3\"",
            "quaternion=\"0;0;0;1\"",
            "pose=\"0;map;1;2;3;0;0;0;1\"",
            "goals=\"0;map;1;2;3;0;0;0;1;0;map;1;2;3;0;0;0;1\"",
            "path=\"0;map;0;map;1;2;3;0;0;0;1\"",
            "milliseconds=\"123.4\"",
            "set=\"100;204;212\"",
        ] {
            assert_eq!(refusal(attribute), None);
        }
    }

    #[test]
    fn texts_give_exact_values() {
        let point: Arc<Point> = parsed("1.0;2.5;-3").unwrap();
        assert_eq!((point.x, point.y, point.z), (1.0, 2.5, -3.0));
        let rotation: Arc<Quaternion> = parsed("0.7;0.0;0.0;0.7").unwrap();
        assert_eq!((rotation.x, rotation.w), (0.7, 0.7));
        let pose: Arc<PoseStamped> = parsed("1500000000;map;1;2;3;0;0;0;1").unwrap();
        assert_eq!(
            (pose.header.stamp.sec, pose.header.stamp.nanosec),
            (1, 500_000_000)
        );
        assert_eq!((&*pose.header.frame_id, pose.pose.position.z), ("map", 3.0));
        let goals: Arc<Goals> = parsed("0;map;1;2;3;0;0;0;1;5;odom;4;5;6;0;0;0;1").unwrap();
        assert_eq!((goals.0.len(), goals.0[1].header.stamp.nanosec), (2, 5));
        assert!(parsed::<Arc<Goals>>("").unwrap().0.is_empty());
        let path: Arc<Path> = parsed("7;map;1;odom;1;2;3;0;0;0;1;2;odom;4;5;6;0;0;0;1").unwrap();
        assert_eq!((path.header.stamp.nanosec, &*path.header.frame_id), (7, "map"));
        assert_eq!(path.poses[1].header.stamp.nanosec, 2);
        let set: Arc<List<i64>> = parsed("100;204;212").unwrap();
        assert_eq!(set.0, [100, 204, 212]);
    }

    #[test]
    fn milliseconds() {
        assert_eq!(parsed("10000"), Ok(Milliseconds(10_000)));
        assert_eq!(parsed("123.4"), Ok(Milliseconds(123)));
        assert_eq!(parsed("json:250"), Ok(Milliseconds(250)));
        assert_eq!(parsed("json:{\"ms\":250}"), Ok(Milliseconds(250)));
        for text in ["", "-1", "abc"] {
            assert!(parsed::<Milliseconds>(text).is_err(), "{text}");
        }
    }

    // test_json_utils
    #[test]
    fn json_round_trips() {
        round_trip::<Point>("1;2;3");
        round_trip::<Quaternion>("0;0;0.6;0.8");
        round_trip::<PoseStamped>("1500000000;map;1;2;3;0;0;0;1");
        round_trip::<Path>("7;map;1;odom;1;2;3;0;0;0;1;2;odom;4;5;6;0;0;0;1");
        round_trip::<Goals>("0;map;1;2;3;0;0;0;1;5;odom;4;5;6;0;0;0;1");
        round_trip::<Stamp>("json:{\"sec\":3,\"nanosec\":5}");
        round_trip::<Header>("json:{\"stamp\":{\"sec\":3,\"nanosec\":5},\"frame_id\":\"map\"}");
        round_trip::<Pose>("json:{\"position\":{\"x\":1.5},\"orientation\":{\"w\":0.5}}");
        round_trip::<Twist>("json:{\"linear\":{\"x\":0.1},\"angular\":{\"z\":-0.2}}");
        round_trip::<RosDuration>("json:{\"sec\":-1,\"nanosec\":5}");
        round_trip::<Odometry>(
            "json:{\"child_frame_id\":\"base\",\"twist\":{\"twist\":{\"linear\":{\"x\":1}}}}",
        );
        round_trip::<TransformStamped>(
            "json:{\"child_frame_id\":\"odom\",\"transform\":{\"translation\":{\"x\":1}}}",
        );
        let odometry: Arc<Odometry> = parsed(
            "json:{\"pose\":{\"pose\":{\"position\":{\"x\":2}},\"covariance\":[0]},\"twist\":{\"twist\":{\"linear\":{\"x\":1}}}}",
        )
        .unwrap();
        assert_eq!((odometry.pose.position.x, odometry.speed()), (2.0, 1.0));
        assert!(parsed::<Arc<BatteryState>>("json:{\"percentage\":0.5,\"cell_voltage\":[1]}").is_ok());
        assert!(parsed::<Arc<BatteryState>>("json:{\"procentage\":0.5}").is_err());
        round_trip::<Route>(
            "json:{\"nodes\":[{\"nodeid\":1}],\"edges\":[{\"edgeid\":2}],\"route_cost\":1.5}",
        );
    }

    #[test]
    fn a_message_is_shared_not_copied() {
        use crate::bt::NodeStatus::Success;
        use crate::msg::action::{ComputePathToPose, ComputePathToPoseResult, FollowPath};
        use crate::nav::testing::{Bench, Plan};

        let poses = (0..10_000).map(|step| Pose::planar(f64::from(step), 0.0, 0.0));
        let path = Arc::new(Path::through(Header::in_frame("map"), poses));
        let mut bench = Bench::new(
            "<root BTCPP_format=\"4\" main_tree_to_execute=\"Main\">
               <BehaviorTree ID=\"Main\"><Sequence>
                 <ComputePathToPose goal=\"0;map;1;2;0;0;0;0;1\" path=\"{path}\"/>
                 <SetBlackboard value=\"{path}\" output_key=\"copy\"/>
                 <Script code=\"again := copy\"/>
                 <SubTree ID=\"Follow\" way=\"{again}\"/>
               </Sequence></BehaviorTree>
               <BehaviorTree ID=\"Follow\"><FollowPath path=\"{way}\"/></BehaviorTree>
             </root>",
        );
        let answer = ComputePathToPoseResult {
            path: Arc::clone(&path),
            ..ComputePathToPoseResult::default()
        };
        bench.action::<ComputePathToPose>("compute_path_to_pose", move |_| Plan::result(answer.clone()));
        bench.action::<FollowPath>("follow_path", |_| Plan::success());
        assert_eq!(bench.run(20), Success);
        for key in ["path", "copy", "again"] {
            assert!(Arc::ptr_eq(&bench.object::<Path>(key).unwrap(), &path), "{key}");
        }
        assert!(Arc::ptr_eq(
            &bench.goals::<FollowPath>("follow_path")[0].path,
            &path
        ));
        assert!(size_of::<Value>() <= 3 * size_of::<usize>());
    }

    #[test]
    fn the_outermost_object_contains_its_type() {
        let pose: Arc<PoseStamped> = parsed("0;map;1;2;3;0;0;0;1").unwrap();
        assert_eq!(
            crate::bt::Object::to_json(&*pose),
            serde_json::json!({
                "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": "map"},
                "pose": {"position": {"x": 1.0, "y": 2.0, "z": 3.0},
                         "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}},
                "__type": "geometry_msgs::msg::PoseStamped"
            })
        );
    }
}
