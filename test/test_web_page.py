"""The web page in a real browser: what it shows of a recording and of a tree, by its text, roles and colours."""

import http.server
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.chromium import Page
from support.executable import ROOT, find
from support.fixtures import TREE_PARAMETER, free_port
from support.graph import PATIENCE, wait_for

RECORDING = ROOT / "test" / "recordings" / "recoveries.mcap"
TREE = ROOT / "behavior_trees" / "navigate_to_pose.xml"


@pytest.fixture
def view(start):
    """Returns a function that opens `navtree view` of a file in a page."""
    pages = []

    def open_page(file, **options):
        page = Page(**options)
        pages.append(page)
        process = start(find("navtree"), "view", file)
        process.wait_for_line("Ctrl-C")
        address = process.lines[0]
        page.open(address)
        return page, address

    yield open_page
    for page in pages:
        page.close()


def node(name):
    """The element of a node of the tree, in JavaScript."""
    return f"[...document.querySelectorAll('.node')].find((node) => node.querySelector('.name').textContent === '{name}')"


def color(page, name, part="borderLeftColor"):
    return page.eval(f"getComputedStyle({node(name)}).{part}")


def variable(page, name):
    """A colour of the style sheet, as computed styles write it."""
    return page.eval(
        "(() => { const probe = document.body.appendChild(document.createElement('i'));"
        f" probe.style.color = 'var(--{name})'; const color = getComputedStyle(probe).color; probe.remove(); return color; }})()"
    )


def show(page, seconds):
    """Goes to a time of the recording by the slider, as a hand does."""
    # The page may still be reading the recording.
    page.wait(f"Number(scrub.max) >= {seconds * 1000}")
    page.eval(f"(() => {{ scrub.value = {seconds * 1000}; scrub.dispatchEvent(new Event('input')); }})()")
    page.wait(f"clock.textContent === '{seconds:.2f} s'")


def test_a_recording_is_shown_at_any_time(view, tmp_path):
    page, address = view(RECORDING)
    page.wait("document.getElementById('status').textContent === 'succeeded'")
    assert page.eval("title.textContent") == "DriveToPose"
    assert "navigate_to_pose to (6.00, 0.00)" in page.eval("facts.textContent")

    # The controller drives, after its first failure.
    show(page, 5.0)
    page.wait("document.getElementById('status').textContent === 'running'")
    for name in ("Navigate", "PlanAndFollow", "Follow", "FollowPath"):
        assert page.eval(f"{node(name)}.getAttribute('aria-label')").endswith(", running"), name
        assert color(page, name) == variable(page, "running")
    assert color(page, "ComputePathToPose") == variable(page, "success")
    assert color(page, "Spin") == variable(page, "line")
    assert page.eval("document.querySelectorAll('#edges .lit').length") == 4
    assert "FollowPath fails after 4.20 s: FAILED_TO_MAKE_PROGRESS (105)" in page.eval("log.innerText")
    assert "recovery 1" in page.eval("log.innerText")

    # The running lines of the XML are marked.
    page.eval("document.getElementById('tab-xml').click()")
    page.wait("document.querySelectorAll('#xml .lit').length === 5")
    assert "<FollowPath" in page.eval("document.querySelector('#xml .leaf').textContent")

    page.eval("document.getElementById('tab-blackboard').click()")
    row = "[...blackboard.rows].find((row) => row.cells[0].textContent === 'follow_path_error_code')"
    page.wait(row)
    assert page.eval(f"{row}.cells[1].textContent") == "105"
    assert page.eval(f"{row}.cells[2].textContent") == "FollowPath"

    page.eval("document.getElementById('tab-goals').click()")
    page.wait("goals.rows.length > 3")
    assert page.eval("goals.rows[0].innerText").split("\t")[:3] == ["FollowPath", "follow_path", "accepted"]
    assert "failed: FAILED_TO_MAKE_PROGRESS" in page.eval("goals.innerText")

    # One tick back and forth.
    page.eval("document.getElementById('back').click()")
    page.wait("clock.textContent === '4.99 s'")
    page.eval("document.getElementById('forward').click()")
    page.wait("clock.textContent === '5.00 s'")

    page.screenshot(tmp_path / "page.png")
    assert page.errors == []
    own = address.split("/#")[0]
    assert page.requests and all(url.startswith(own) for url in page.requests), page.requests
    assert not any("#" not in url and address.split("#")[1] in url for url in page.requests), "the token is in no request line"


def test_the_page_works_by_keyboard_and_with_a_screen_reader(view):
    page, _ = view(RECORDING)
    page.wait("document.querySelectorAll('.node').length === 22")
    show(page, 5.0)
    page.wait(f"{node('FollowPath')}.getAttribute('aria-label')?.endsWith('running')")
    roles = page.roles()
    for role, name in [
        ("tree", "Behavior tree"),
        ("treeitem", "FollowPath, FollowPath, running"),
        ("treeitem", "Spin, Spin, idle"),
        ("slider", "Time"),
        ("tab", "Blackboard"),
        ("button", "Next tick"),
        ("searchbox", "Find a node"),
    ]:
        assert (role, name) in roles, (role, name, roles)
    assert any(role in ("image", "img") and "recoveries" in name for role, name in roles)

    focused = "document.activeElement.querySelector('.name').textContent"
    page.eval(f"{node('Navigate')}.focus()")
    for key, name in [("ArrowDown", "PlanAndFollow"), ("ArrowRight", "PlanEverySecond"), ("End", "BackUp"), ("Home", "Navigate")]:
        page.press(key)
        assert page.eval(focused) == name
    page.press("ArrowLeft")
    page.wait("document.querySelectorAll('.node:not([hidden])').length === 1")
    assert page.eval("document.activeElement.getAttribute('aria-expanded')") == "false"
    page.press("ArrowRight")
    page.wait("document.querySelectorAll('.node:not([hidden])').length === 22")
    page.eval("document.getElementById('tab-node').focus()")
    page.press("ArrowRight")
    assert page.eval("document.querySelector('[role=tab][aria-selected=true]').textContent") == "Blackboard"


def test_a_tree_is_shown_with_its_ports_and_problems(view, tmp_path):
    file = tmp_path / "tree.xml"
    file.write_text(
        '<root BTCPP_format="4" main_tree_to_execute="Main"><BehaviorTree ID="Main"><Sequence>\n'
        '<Wait name="&lt;img src=x onerror=alert(1)&gt;" wait_duration="1.0"/>\n'
        '<Script code="unused := 1"/></Sequence></BehaviorTree>\n'
        '<BehaviorTree ID="Never"><AlwaysSuccess/></BehaviorTree></root>'
    )
    page, _ = view(file)
    page.wait("document.querySelectorAll('.node').length === 3")
    assert page.eval("getComputedStyle(timeline).display") == "none"
    # A name is a text.
    assert page.eval("document.querySelectorAll('#tree img').length") == 0
    page.eval("document.getElementById('tab-node').click()")
    page.eval("document.querySelectorAll('.node')[1].click()")
    panel = "document.getElementById('panel-node').innerText"
    page.wait(f"{panel}.includes('wait_duration')")
    assert "<img src=x onerror=alert(1)>" in page.eval(panel)
    assert "tree.xml:2" in page.eval(panel)
    page.eval("document.getElementById('search').value = 'script'; find('script', false)")
    page.wait("document.querySelector('.node.found .name')?.textContent === 'Script'")
    assert page.errors == []


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1400, True)])
def test_the_page_fits_a_phone_and_the_dark(view, width, dark):
    page, _ = view(RECORDING, width=width, height=844, dark=dark)
    page.wait("document.querySelectorAll('.node').length === 22")
    assert page.eval("document.documentElement.scrollWidth") <= width
    ground = page.eval("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground.strip("rgb()").split(","))) < 150) == dark
    show(page, 5.0)
    page.wait(f"{node('FollowPath')}.classList.contains('running')")
    if width < 600:
        assert page.eval("document.getElementById('layout-outline').getAttribute('aria-pressed')") == "true"
        assert page.eval(f"{node('FollowPath')}.getBoundingClientRect().right") <= width


def test_without_the_token_the_page_asks_for_it(view):
    page, address = view(TREE)
    page.wait("document.querySelectorAll('.node').length > 0")
    url, token = address.split("#")
    page.open("about:blank")
    page.open(f"{url}#wrong-wrong-wrong-wrong")
    page.wait("!login.hidden && getComputedStyle(main).display === 'none'")
    page.eval(f"document.getElementById('token').value = '{token}'; login.requestSubmit()")
    page.wait("document.querySelectorAll('.node').length > 0")


def test_a_thousand_nodes_at_100_hz_leave_time_for_input(view):
    page, _ = view(TREE)
    page.wait("document.querySelectorAll('.node').length > 0")
    # Each tick changes each node; five ticks come at once, 20 times a second. The page draws when it wants to.
    page.eval(
        """(async () => {
          const nodes = [{ name: "Root", id: "Parallel", kind: "Control", path: "", parent: null, file: null, line: null, ports: [] }];
          for (let index = 1; index < 1000; index++)
            nodes.push({ name: `Leaf ${index}`, id: "Wait", kind: "Action", path: "", parent: 0, file: null, line: null, ports: [] });
          beginRun({ mode: "live", tree: "Large", nodes, files: [], keys: [], problems: [], navigation: null });
          window.drawn = 0;
          const drawTree = tree.draw.bind(tree);
          tree.draw = (...given) => { window.drawn++; drawTree(...given); };
          window.feed = async (seconds) => {
            for (let frame = 0; frame < seconds * 20; frame++) {
              const changes = [];
              for (let tick = 0; tick < 5; tick++) {
                changes.push(["t", run.time + 10]);
                for (let index = 1; index < 1000; index++) changes.push(["c", index, 1 + ((frame + tick) % 3)]);
              }
              receive("changes", changes);
              await new Promise((resolve) => setTimeout(resolve, 50));
            }
          };
          await window.feed(1);
        })()"""
    )
    page.eval("window.drawn = 0")
    begin, before = time.monotonic(), page.thread_time()
    page.eval("window.feed(3)")
    used, seconds = page.thread_time() - before, time.monotonic() - begin
    drawn = page.eval("window.drawn")
    print(f"{used:.2f} s of the main thread in {seconds:.2f} s, and {drawn} frames")
    # A slow machine draws less often. At least a quarter of the time is left for input.
    assert used < 0.75 * seconds, (used, seconds)
    # Of 60, if the machine is fast: 20 pictures a second.
    assert drawn >= 10, drawn


def serve_robots(names):
    """A server with the files of the page, and a run of one node for each robot: (server, the requests)."""
    folder = ROOT / "src" / "monitor" / "web" / "page"
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            requests.append(self.path)
            robot = urllib.parse.parse_qs(url.query).get("robot", names[:1])[0]
            if url.path == "/robots":
                self.reply("application/json", json.dumps(names))
            elif url.path == "/events":
                leaf = {"name": robot, "id": "Wait", "kind": "Action", "path": "", "parent": None, "file": None, "line": None, "ports": []}
                run = {"mode": "live", "tree": f"Tree of {robot}", "nodes": [leaf], "files": [], "keys": [], "problems": []}
                self.reply("text/event-stream", f"event: run\ndata: {json.dumps(run | {'navigation': None})}\n\n")
            else:
                file = folder / (url.path.strip("/") or "page.html")
                kinds = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
                self.reply(kinds[file.suffix], file.read_text())

        def do_POST(self):
            requests.append(self.path)
            self.reply("text/plain", "done\n")

        def reply(self, kind, text):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, requests


def test_the_page_offers_the_robots_of_a_process():
    names = ["/r1/bt_navigator", "/r2/bt_navigator"]
    server, requests = serve_robots(names)
    page = Page()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        page.open(f"{address}/#{TOKEN}")
        page.wait(f"document.getElementById('title')?.textContent === 'Tree of {names[0]}'")
        page.eval("act('pause')")
        # The robot that the page shows, whichever is the first one then.
        assert "/act/pause?robot=%2Fr1%2Fbt_navigator" in requests
        chooser = "document.getElementById('robot')"
        assert page.eval(f"[...{chooser}.options].map((option) => option.text)") == names
        assert ("combobox", "Robot") in page.roles()
        page.eval(f"{chooser}.value = '{names[1]}'; {chooser}.dispatchEvent(new Event('change'))")
        # The browser loads the page again.
        page.wait(f"document.getElementById('title')?.textContent === 'Tree of {names[1]}'")
        page.wait(f"{chooser}.value === '{names[1]}'")
        assert page.eval("location.hash") == f"#{TOKEN}", "the token stays"
        assert "/events?page=&robot=%2Fr2%2Fbt_navigator" in requests
        assert page.errors == []
    finally:
        page.close()
        server.shutdown()
        server.server_close()


# ---- A node that runs -------------------------------------------------------------------------------------------------

TOKEN = "the-token-of-this-test"
DRIVE = """
<root BTCPP_format="4"><BehaviorTree ID="Drive"><Sequence name="Way">
  <ComputePathToPose goal="{goal}" path="{path}"/><FollowPath path="{path}"/>
</Sequence></BehaviorTree></root>
"""


def monitored_node(stack_factory, tmp_path):
    """A node with its monitor port, and the port."""
    port = free_port()
    tree = tmp_path / "drive.xml"
    tree.write_text(DRIVE)
    stack = stack_factory({"monitor_port": port, "monitor_token": TOKEN, TREE_PARAMETER: tree})
    return stack, port


def drive_without_end(stack):
    """A goal that the controller executes until it is cancelled."""
    stack.robot.controller.behaviour.duration = None
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(stack.robot.controller.executing, PATIENCE, "the controller to execute")
    return goal


@pytest.fixture
def monitored(stack_factory, tmp_path):
    """A node with its web page, and a function that asks it: (method, path, token) to (status, text)."""
    stack, port = monitored_node(stack_factory, tmp_path)
    address = f"http://127.0.0.1:{port}"

    def ask(method, path, token=TOKEN):
        request = urllib.request.Request(address + path, method=method, headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    return stack, address, ask


def samples(text):
    """The samples of Prometheus' text format, as its own Python client reads them."""
    found = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation and family.type in ("counter", "gauge", "summary"), family
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
            name = f"{sample.name}{{{labels}}}" if labels else sample.name
            assert name not in found, f"{name} is there twice"
            found[name] = sample.value
    return found


def test_the_page_of_a_node_pauses_steps_resumes_and_cancels(monitored):
    stack, address, ask = monitored
    stack.node.wait_for_line(f"web page: {address}/#{TOKEN}")
    stack.robot.controller.behaviour.duration = None
    page = Page()
    try:
        page.open(f"{address}/#{TOKEN}")
        goal = stack.navigation.send(1.0, 0.0)
        running = f"{node('FollowPath')}.getAttribute('aria-label')?.endsWith('running')"
        page.wait("title.textContent === 'Drive'")
        page.wait(running)
        page.eval("document.getElementById('tab-goals').click()")
        page.wait("goals.innerText.includes('follow_path') && goals.innerText.includes('accepted')")

        def ticks():
            return samples(ask("GET", "/metrics")[1])["navtree_tick_duration_seconds_count"]

        page.eval("document.getElementById('pause').click()")
        page.wait("document.getElementById('status').textContent === 'paused'")
        page.eval("document.getElementById('tab-log').click()")
        page.wait("log.innerText.includes('[WARN] web page: ticks are paused')")
        paused = ticks()
        page.wait("!document.getElementById('step').disabled")
        for step in range(1, 4):
            page.eval("document.getElementById('step').click()")
            wait_for(lambda step=step: ticks() == paused + step, PATIENCE, f"tick {step}")
        assert stack.robot.controller.executing(), "the goal on the server continues"
        page.eval("document.getElementById('pause').click()")
        page.wait("document.getElementById('status').textContent === 'running'")
        wait_for(lambda: ticks() > paused + 10, PATIENCE, "ticks")

        page.eval("window.confirm = () => true; document.getElementById('cancel').click()")
        status, result = goal.result()
        assert status == "ABORTED" and result.error_msg == "an operator cancelled the goal on the web page"
        page.wait("document.getElementById('status').textContent === 'failed'")
        assert not stack.robot.controller.executing()
        assert page.errors == []
    finally:
        page.close()
    for act in ("ticks are paused", "one tick of the paused tree", "ticks are resumed", "the navigation goal is cancelled"):
        assert f"web page: {act}" in stack.node.output


def test_a_pause_ends_when_the_last_page_is_closed(monitored):
    stack, address, ask = monitored
    stack.robot.controller.behaviour.duration = None
    page = Page()
    try:
        page.open(f"{address}/#{TOKEN}")
        goal = stack.navigation.send(1.0, 0.0)
        page.wait("title.textContent === 'Drive'")
        page.wait(f"{node('FollowPath')}.getAttribute('aria-label')?.endsWith('running')")
        page.eval("document.getElementById('pause').click()")
        page.wait("document.getElementById('status').textContent === 'paused'")
    finally:
        page.close()
    stack.node.wait_for_line("the last page was closed, so its pause ends")
    wait_for(lambda: samples(ask("GET", "/metrics")[1])["navtree_ticks_paused"] == 0, PATIENCE, "the ticks")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"


def test_a_cancel_ends_its_own_goal_only(monitored):
    stack, _, ask = monitored
    goal = drive_without_end(stack)
    status, reason = ask("POST", "/act/cancel/01010101-0101-0101-0101-010101010101")
    assert (status, reason) == (409, "this goal runs no longer\n")
    assert stack.robot.controller.executing()
    goal.cancel()
    assert goal.result()[0] == "CANCELED"


def test_a_client_can_cancel_a_paused_tree(monitored):
    stack, _, ask = monitored
    goal = drive_without_end(stack)
    assert ask("POST", "/act/pause", token="another-token-of-a-stranger")[0] == 401
    assert ask("POST", "/act/pause")[0] == 200
    wait_for(lambda: samples(ask("GET", "/metrics")[1])["navtree_ticks_paused"] == 1, PATIENCE, "the pause")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    assert ask("POST", "/act/resume")[0] == 200


def test_metrics_count_what_happens(monitored):
    stack, _, ask = monitored
    goals = 'navtree_goals_total{server="follow_path",outcome="succeeded",reason=""}'
    ended = 'navtree_navigations_total{status="succeeded",error_code="0"}'
    wait_for(lambda: ended in samples(ask("GET", "/metrics")[1]), PATIENCE, "the navigation that settled the stack")
    before = samples(ask("GET", "/metrics")[1])
    goal = stack.navigation.send(1.0, 0.0)
    assert goal.result()[0] == "SUCCEEDED"
    wait_for(lambda: samples(ask("GET", "/metrics")[1])[ended] == before[ended] + 1, PATIENCE, "the end in the metrics")
    metrics = samples(ask("GET", "/metrics")[1])
    assert metrics[goals] == before[goals] + 1
    assert metrics["navtree_tree_swaps_total"] == 1, "the first tree, and then this one"
    assert metrics["navtree_records_lost_total"] == 0
    assert metrics["navtree_tick_thread_answers"] == 1
    assert 0 < metrics['navtree_tick_duration_seconds{quantile="0.5"}'] < 0.1
    assert metrics["navtree_tick_lateness_seconds_count"] > 0


def test_the_time_to_motion_is_measured(monitored):
    stack, _, ask = monitored
    stack.robot.controller.behaviour.duration = None

    def times():
        metrics = samples(ask("GET", "/metrics")[1])
        return metrics["navtree_time_to_motion_seconds_count"], metrics["navtree_time_to_motion_seconds_sum"]

    assert times() == (0, 0), "the robot stood in the navigation that settled the stack"
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(stack.robot.controller.executing, PATIENCE, "the controller to execute")
    stack.robot.stand_at(0.5)
    wait_for(lambda: times()[0] == 1, PATIENCE, "the motion in the metrics")
    assert 0 < times()[1] < PATIENCE
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
