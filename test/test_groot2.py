"""Groot2's protocol: the node and BehaviorTree.CPP's `Groot2Publisher` give the same replies; breakpoints."""

import contextlib
import json
import platform
import socket
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from support.executable import ROOT
from support.fixtures import TREE_PARAMETER
from support.graph import PATIENCE, wait_for
from support.groot2 import Groot2, Zmtp

TREE = """
<root BTCPP_format="4" main_tree_to_execute="Main">
  <BehaviorTree ID="Main"><Sequence name="Way">
    <Script code="x := 5"/>
    <SubTree ID="Sub" name="inner" a="{x}"/>
    <Sleep name="go" msec="100000"/>
  </Sequence></BehaviorTree>
  <BehaviorTree ID="Sub"><Sequence>
    <Inverter><AlwaysFailure/></Inverter>
    <Script code="y := a + 1; t := 'text'; d := 1.5; big := 70000; neg := -3; f := 0.1"/>
  </Sequence></BehaviorTree>
</root>
"""
#: The UID of the leaf that runs.
GO = 8


def free_ports():
    """A free port whose next one is free, too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            with contextlib.suppress(OSError, OverflowError):
                second.bind(("127.0.0.1", port + 1))
                return port


def hook(**values):
    """A hook as JSON."""
    whole = {"enabled": True, "uid": 3, "mode": 0, "once": False, "desired_status": "SKIPPED", "position": 0}
    return json.dumps(whole | values).encode()


def place(uid, position=0):
    return json.dumps({"uid": uid, "position": position}).encode()


def unlock(uid, remove=False):
    values = {"uid": uid, "position": 0, "desired_status": "SKIPPED", "remove_when_done": remove}
    return json.dumps(values).encode()


class Peer:
    """BehaviorTree.CPP in a process."""

    def __init__(self, port, file):
        script = ROOT / "test" / "behaviortree_cpp" / "groot2_peer.py"
        command = [sys.executable, script, str(port), str(file)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def act(self, word):
        print(word, file=self.process.stdin, flush=True)
        assert self.process.stdout.readline() == "done\n"

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


@pytest.fixture
def monitored(stack_factory, tmp_path):
    """A node with Groot2, its tree file and its port."""
    file, port = tmp_path / "tree.xml", free_ports()
    file.write_text(TREE)
    parameters = {
        TREE_PARAMETER: file,
        "navigate_to_pose.enable_groot_monitoring": True,
        "navigate_to_pose.groot_server_port": port,
    }
    return stack_factory(parameters), file, port


def run_to_go(stack, client):
    """Starts a navigation and waits for its last leaf."""
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(lambda: client.statuses().get(GO) == 1, PATIENCE, lambda: f"the last leaf: {client.statuses()}")
    return goal


def nodes(reply):
    """The trees of a reply with the whole tree: what Groot2 needs of each node, and the ports of the file."""
    root = ElementTree.fromstring(reply[1])
    trees = [dict(sorted(tree.attrib.items())) for tree in root.findall("BehaviorTree")]
    wanted = ("ID", "name", "_uid", "_fullpath", "code", "msec", "a")
    found = [
        (node.tag, {name: node.attrib[name] for name in wanted if name in node.attrib}, len(node))
        for tree in root.findall("BehaviorTree")
        for node in tree.iter()
    ]
    models = {model.attrib["ID"] for model in root.find("TreeNodesModel")}
    assert {"Sequence", "Script", "Sleep"} <= models
    return trees, found


def transitions(reply):
    """UIDs and statuses."""
    data = reply[1]
    return [struct.unpack("<HB", data[at + 6 : at + 9]) for at in range(0, len(data), 9)]


@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.version_info >= (3, 14),
    reason="behaviortreepy has wheels for x86_64 and Python up to 3.13 only",
)
def test_the_replies_are_those_of_behaviortree_cpp(monitored):
    stack, file, port = monitored
    theirs_port = free_ports()
    peer = Peer(theirs_port, file)
    peer.act("tick")
    ours, theirs = Groot2(port), Groot2(theirs_port)
    try:
        goal = run_to_go(stack, ours)
        assert ours.ask(b"S") == theirs.ask(b"S")
        assert nodes(ours.ask(b"T")) == nodes(theirs.ask(b"T"))
        same = [
            (b"B", b"inner"),
            (b"B", b"inner;unknown"),
            (b"B", b""),
            (b"B",),
            (b"D",),
            (b"I", hook(uid=999)),
            (b"D",),
            # At a node that is not reached again.
            (b"I", hook(uid=2)),
            (b"D",),
            (b"R", place(5)),
            (b"R", place(2, 1)),
            (b"X",),
            (b"D",),
            (b"I", hook(uid=2, once=True)),
            (b"D",),
            (b"R", place(2)),
            (b"D",),
            (b"I", b"[" + hook(uid=4) + b"]"),
            (b"A",),
            (b"D",),
            (b"U", unlock(5)),
            (b"I",),
            (b"R",),
            (b"U",),
            (b"r",),
            (b"r", b"other"),
            (b"t",),
            (b"Z",),
        ]
        for request in same:
            assert ours.ask(*request) == theirs.ask(*request), request
        goal.cancel()
        assert goal.result()[0] == "CANCELED"
        peer.act("halt")
        # The stream is some milliseconds behind the result.
        wait_for(lambda: ours.ask(b"S") == theirs.ask(b"S"), PATIENCE, lambda: f"{ours.ask(b'S')} {theirs.ask(b'S')}")

        for client in (ours, theirs):
            header, start = client.ask(b"r", b"start")
            assert header[1:2] == b"r" and int(start) > 1_700_000_000_000_000
        peer.act("tick")
        goal = run_to_go(stack, ours)
        ours_changes, theirs_changes = transitions(ours.ask(b"t")), transitions(theirs.ask(b"t"))
        assert ours_changes == theirs_changes and (GO, 1) in ours_changes
        assert ours.ask(b"r", b"stop") == theirs.ask(b"r", b"stop")
        goal.cancel()
        assert goal.result()[0] == "CANCELED"
    finally:
        ours.close()
        theirs.close()
        peer.close()


def test_a_breakpoint_pauses_the_tree_and_never_the_node(monitored):
    stack, _, port = monitored
    client, messages = Groot2(port), Zmtp(port + 1, b"SUB")
    messages.send(b"\x01")
    goal = run_to_go(stack, client)
    goal.cancel()
    assert goal.result()[0] == "CANCELED"

    client.ask(b"I", hook(uid=GO))
    goal = stack.navigation.send(1.0, 0.0)
    header, uid = messages.receive()
    assert (header[:2], uid) == (b"\x02N", str(GO).encode())
    stack.node.wait_for_line(f"Groot2 on port {port}: ticks are paused")
    assert client.ask(b"U", unlock(GO)) == [b"\x02U\x01\x02\x03\x04"]
    stack.node.wait_for_line(f"Groot2 on port {port}: ticks are resumed")

    # A cancel works while the tree is paused.
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    goal = stack.navigation.send(1.0, 0.0)
    messages.receive()
    goal.cancel()
    assert goal.result()[0] == "CANCELED"

    # A client that has gone leaves no paused tree behind.
    seen = len(stack.node.lines)
    goal = stack.navigation.send(1.0, 0.0)
    messages.receive()
    client.close()
    stack.node.wait_for_line(f"Groot2 on port {port}: ticks are resumed", after=seen)
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    messages.close()


def test_malformed_frames_and_a_used_port_stop_nothing(monitored):
    stack, _, port = monitored
    for first in (port, port + 1):
        for data in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 1000, bytes(64)):
            with socket.create_connection(("127.0.0.1", first), PATIENCE) as raw:
                raw.sendall(data)
                # The node may have closed the connection by now.
                with contextlib.suppress(OSError):
                    raw.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):
                    while raw.recv(4096):
                        pass
    broken = Zmtp(port, b"REQ")
    broken._socket.sendall(b"\x02" + b"\xff" * 8)
    with contextlib.suppress(ConnectionResetError):
        assert broken._socket.recv(1) == b""
    client = Groot2(port)
    for wrong in (b"{}", b"nonsense", b"[[[["):
        assert client.ask(b"I", wrong)[0] == b"error"
    goal = run_to_go(stack, client)
    goal.cancel()
    assert goal.result()[0] == "CANCELED"


def test_a_port_in_use_is_logged_and_the_robot_drives(stack_factory):
    port = free_ports()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        parameters = {"navigate_to_pose.enable_groot_monitoring": True, "navigate_to_pose.groot_server_port": port}
        stack = stack_factory(parameters)
        stack.node.wait_for_line(f"no Groot2 on the ports {port} and {port + 1}")
        assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
