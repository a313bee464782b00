"""The flight recorder: a failed navigation leaves a file that other tools open, and that can be told and replayed."""

import os
import signal
import subprocess

import pytest
from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader, make_reader
from mcap_ros2.decoder import DecoderFactory
from std_srvs.srv import Trigger
from support.executable import find
from support.fixtures import tree
from support.graph import PATIENCE, wait_for
from support.simulation import Simulation

pytestmark = pytest.mark.timeout(300)

DRIVE = tree("navigate_to_pose.xml")


@pytest.fixture
def simulate(ros_domain, tmp_path, request):
    """Starts a simulated robot whose failed navigations are recorded in `tmp_path`."""
    simulations = []

    def make(**parameters):
        settings = {"record_on": "failure", "recordings_directory": str(tmp_path / "recordings")}
        simulation = Simulation(ros_domain, settings | parameters)
        simulations.append(simulation)
        return simulation

    yield make
    for simulation in simulations:
        simulation.close()
        if request.node.has_failed:
            print(simulation.node.output[-8000:])


def navtree(*arguments):
    """Runs a command of navtree and returns what it prints."""
    ended = subprocess.run([find("navtree"), *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def fail(simulation):
    """Makes a navigation fail after recoveries. Returns its result and the path of its recording."""
    simulation.set_sim(faults__follow_path__abort_goals="all")
    x, y = simulation.position
    goal = simulation.navigation.send(x + 3.0, y, tree=DRIVE)
    status, result = goal.result()
    simulation.set_sim(faults__follow_path__abort_goals="")
    assert status == "ABORTED"
    assert "recording: " in result.error_msg, result.error_msg
    path = result.error_msg.rsplit("recording: ", 1)[1]
    wait_for(lambda: os.path.exists(path), PATIENCE, f"the recording {path}")
    simulation.node.wait_for_line(f"recording written: {path}")
    return result, path


def test_g9_a_failed_navigation_can_be_opened_told_and_replayed(simulate, tmp_path):
    simulation = simulate()
    result, path = fail(simulation)
    with open(path, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        summary = reader.get_summary()
        topics = {channel.topic: channel.message_encoding for channel in summary.channels.values()}
        attachments = {attachment.name for attachment in reader.iter_attachments()}
        metadata = {record.name: record.metadata for record in reader.iter_metadata()}
        # Every ROS message is decoded by the definition that the file has.
        ros = [topic for topic, encoding in topics.items() if encoding == "cdr"]
        messages = {}
        for decoded in reader.iter_decoded_messages(topics=ros):
            messages.setdefault(decoded.channel.topic, []).append(decoded.decoded_message)
    assert topics.pop("/navtree/records") == "msgpack"
    assert set(topics) == {"/behavior_tree_log", "/navtree/statuses", "/navtree/tick", "/navtree/pose", "/navtree/goal", "/navtree/path"}
    assert attachments == {f"tree/{DRIVE}"}
    assert metadata["navtree"]["status"] == "Aborted"
    assert metadata["navtree"]["complete"] == "true"
    assert metadata["navtree"]["error_message"] == result.error_msg
    assert set(messages) >= {"/behavior_tree_log", "/navtree/statuses", "/navtree/tick", "/navtree/goal", "/navtree/path"}
    assert len(messages["/navtree/tick"]) > 5
    assert all(tick.duration_ms >= 0.0 for tick in messages["/navtree/tick"])
    assert max(tick.recoveries for tick in messages["/navtree/tick"]) > 0
    # The node clears the path when a navigation begins.
    planned = [path for path in messages["/navtree/path"] if path.poses]
    assert planned and {path.header.frame_id for path in planned} == {"map"}
    statuses = messages["/navtree/statuses"][-1]
    assert len(statuses.__slots__) > 10 and all(getattr(statuses, name) in range(4) for name in statuses.__slots__)
    names = {change.node_name for log in messages["/behavior_tree_log"] for change in log.event_log}
    assert "FollowPath" in names

    story = navtree("log", path)
    assert "FollowPath ran on follow_path" in story and "failed" in story and "recoveries" in story
    assert "the trace of" in navtree("replay", path)
    scenario = tmp_path / "scenario.yaml"
    navtree("replay", path, "--to-scenario", scenario)
    assert "1 passed, 0 failed" in navtree("test", scenario)
    assert "FollowPath" in navtree("replay", path, "--tree", tree("plan_and_follow.xml"))
    assert "in 2 runs" in navtree("coverage", DRIVE, path, scenario)


#: Faults of the servers of nav_sim, by the numbers of their goals.
FAULTS = {
    "faults__compute_path_to_pose__abort_goals": "4,5,20,33",
    "faults__compute_path_to_pose__refuse_goals": "12,41",
    "faults__compute_path_to_pose__late_answer_goals": "16,17",
    "faults__follow_path__abort_goals": "2,3,7,12,18",
    "faults__follow_path__refuse_goals": "9",
    "faults__follow_path__mute_goals": "5",
    "faults__follow_path__twice_goals": "6,10",
    "faults__follow_path__wrong_id_goals": "8,14",
    "faults__follow_path__late_answer_goals": "11,15",
    "faults__spin__abort_goals": "1,3",
}


def test_g9_twenty_navigations_with_faults_are_replayed(simulate):
    simulation = simulate(record_on="always")
    simulation.set_sim(**FAULTS)
    statuses, recoveries = [], 0

    def written():
        return [line.rsplit("recording written: ", 1)[1] for line in simulation.node.lines if "recording written: " in line]

    first = len(written())
    for number in range(first, first + 20):
        x, y = simulation.position
        is_cancelled = number % 6 == 5
        # Far enough that it still drives when it is cancelled.
        way = 30.0 if is_cancelled else 2.0
        goal = simulation.navigation.send(x + (way if number % 2 else -way), y, tree=DRIVE)
        if is_cancelled:
            wait_for(lambda: goal.feedback and goal.feedback[-1].navigation_time.sec > 1, PATIENCE, "the robot to drive")
            goal.cancel()
        status, _ = goal.result()
        statuses.append(status)
        wait_for(lambda: len(written()) > number, PATIENCE, "the recording")
        path = written()[number]
        assert "the trace of" in navtree("replay", path)
        recoveries += "recovery 1 begins" in navtree("log", path)
    assert recoveries >= 5 and {"SUCCEEDED", "CANCELED"} <= set(statuses), (recoveries, statuses)


def test_a_recording_is_written_on_request(simulate, tmp_path):
    simulation = simulate(record_on="never")
    group = simulation.graph.group
    save = simulation.graph.node.create_client(Trigger, "/bt_navigator/save_recording", callback_group=group)
    wait_for(save.service_is_ready, PATIENCE, "the service save_recording")
    x, y = simulation.position
    # Far away: the robot must still drive when both commands have ended, on a busy machine too.
    goal = simulation.navigation.send(x + 300.0, y)
    wait_for(lambda: len(goal.feedback) > 3, PATIENCE, "the robot to drive")
    answer = simulation.graph.ask(lambda: save.call_async(Trigger.Request()), "answer of save_recording")
    assert answer.success, answer.message
    assert "while the navigation still runs" in navtree("log", answer.message)
    assert "the trace of" in navtree("replay", answer.message)
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    again = simulation.graph.ask(lambda: save.call_async(Trigger.Request()), "answer of save_recording")
    assert again.message == answer.message
    assert "was cancelled" in navtree("log", again.message)
    assert len(list((tmp_path / "recordings").iterdir())) == 1


def test_g9_a_navigation_longer_than_the_memory_is_replayed_as_a_whole(simulate, tmp_path):
    # The memory has three minutes of the simulated time, which are nine seconds.
    simulation = simulate(recorder_minutes=3.0)
    save = simulation.graph.node.create_client(Trigger, "/bt_navigator/save_recording", callback_group=simulation.graph.group)
    wait_for(save.service_is_ready, PATIENCE, "the service save_recording")
    x, y = simulation.position
    goal = simulation.navigation.send(x + 300.0, y)
    wait_for(lambda: goal.feedback and goal.feedback[-1].navigation_time.sec > 200, 2 * PATIENCE, "a long navigation")

    def request(part_of_story):
        answer = simulation.graph.ask(lambda: save.call_async(Trigger.Request()), "answer of save_recording")
        assert answer.success, answer.message
        with open(answer.message, "rb") as file:
            reader = make_reader(file, decoder_factories=[DecoderFactory()])
            assert [record.metadata["complete"] for record in reader.iter_metadata()] == ["true"]
            ticks = sum(1 for _ in reader.iter_decoded_messages(topics=["/navtree/tick"]))
        story = navtree("log", answer.message)
        assert part_of_story in story, story
        assert "the trace of" in navtree("replay", answer.message)
        return answer.message, ticks

    path, ticks = request("while the navigation still runs")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    again, all_ticks = request("was cancelled")
    assert again == path and all_ticks > ticks
    assert [file.name for file in (tmp_path / "recordings").iterdir()] == [os.path.basename(path)]


def test_a_killed_node_leaves_nothing_broken(simulate, tmp_path):
    simulation = simulate()
    _, path = fail(simulation)
    x, y = simulation.position
    goal = simulation.navigation.send(x + 300.0, y)
    wait_for(lambda: len(goal.feedback) > 3, PATIENCE, "the robot to drive")
    found = []
    wait_for(lambda: found or found.extend((tmp_path / "recordings").glob("*.running.mcap.part")), PATIENCE, "the file of the run")
    os.kill(simulation.node.pid, signal.SIGKILL)
    simulation.node.wait(PATIENCE)
    for file in (tmp_path / "recordings").iterdir():
        assert "ticks" in navtree("log", file)
    # The navigation that was killed.
    assert "FollowPath ran on follow_path" in navtree("log", found[0])
    assert "the trace of" in navtree("replay", found[0])
    # A file that was cut off while it was written.
    with open(path, "rb") as file:
        whole = file.read()
    part = tmp_path / "recordings" / "part.mcap.part"
    part.write_bytes(whole[: len(whole) * 3 // 4])
    assert "while the navigation still runs" in navtree("log", part)
    assert "the trace of" in navtree("replay", part)
    count = 0
    with open(part, "rb") as file, pytest.raises((McapError, EOFError)):
        for _ in NonSeekingReader(file).iter_messages():
            count += 1
    for size in range(0, len(whole), len(whole) // 10):
        part.write_bytes(whole[:size])
        ended = subprocess.run([find("navtree"), "log", part], capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode in (0, 2) and "panicked" not in ended.stderr, ended.stderr


def test_an_unusable_directory_costs_the_recording_only(simulate, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    simulation = simulate(recordings_directory=str(blocked / "recordings"))
    simulation.set_sim(faults__follow_path__abort_goals="all")
    x, y = simulation.position
    assert simulation.navigation.send(x + 3.0, y).result()[0] == "ABORTED"
    simulation.node.wait_for_line("recording not written: ")
    simulation.set_sim(faults__follow_path__abort_goals="")
    assert simulation.navigation.send(x + 1.0, y).result()[0] == "SUCCEEDED"


def test_the_recorder_has_no_thread_between_recordings(stack_factory):
    stack = stack_factory({"record_on": "failure"})
    wait_for(lambda: stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED", PATIENCE, "a navigation")
    names = stack.node.thread_names
    wait_for(lambda: "recordings" not in names(), PATIENCE, lambda: f"the end of the thread: {names()}")
    assert "recorder" not in names()
