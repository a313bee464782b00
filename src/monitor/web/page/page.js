// The page: what is shown, the events of the server, acts and input.
"use strict";

let run = null;
let robot = null; // What the node tells besides the run.
let viewed = null; // The shown state.
let viewTime = null; // null: the newest.
let playing = null;
let isConnected = false;
let selected = -1;
let isDirty = true;
let nextDraw = 0;

const touch = () => { isDirty = true; };

function statusOf(state) {
  if (!isConnected) return ["disconnected", "failure"];
  if (!run) return ["no navigation yet", ""];
  if (run.head.mode === "tree") return ["tree", ""];
  if (robot && robot.paused && viewTime === null) return ["paused", "halted"];
  if (state.end) return [{ succeeded: "succeeded", failed: "failed", canceled: "cancelled" }[state.end.status], { succeeded: "success", failed: "failure" }[state.end.status] || "halted"];
  if (state.stopping) return ["stopping", "halted"];
  return ["running", "running"];
}

function drawHeader(state) {
  const [text, kind] = statusOf(state);
  const status = byId("status");
  if (status.textContent !== text) status.textContent = text;
  status.className = `pill ${kind}`;
  if (!run) return;
  const facts = [];
  const navigation = run.head.navigation;
  if (navigation) {
    const goal = navigation.poses[navigation.poses.length - 1];
    facts.push(navigation.action + (goal ? ` to (${Number(goal[0]).toFixed(2)}, ${Number(goal[1]).toFixed(2)})` : ""));
    facts.push(`${state.ticks} ticks${state.missed ? `, ${state.missed} missed` : ""}`);
    if (state.lost) facts.push(`${state.lost} records lost`);
    if (state.end && state.end.message) facts.push(state.end.message);
    if (state.error) facts.push(state.error);
  } else facts.push(`${run.nodes.length} nodes`);
  const line = facts.join(" · ");
  if (byId("facts").textContent !== line) byId("facts").textContent = line;
}

function drawTime() {
  const time = shownTime();
  const scrub = byId("scrub");
  byId("clock").textContent = `${(time / 1000).toFixed(2)} s`;
  [scrub.min, scrub.max] = [run.begin(), run.time];
  if (document.activeElement !== scrub || viewTime === null || playing) scrub.value = time;
  scrub.setAttribute("aria-valuetext", `${(time / 1000).toFixed(2)} seconds`);
  byId("live").setAttribute("aria-pressed", String(viewTime === null));
}

let timesDrawn = 0;

function draw(now) {
  requestAnimationFrame(draw);
  if (now < nextDraw) return;
  if (playing && run) {
    setTime(playing.from + (now - playing.start));
    if (shownTime() >= run.time) play(false);
  }
  if (!isDirty && now - timesDrawn < 500) return;
  nextDraw = now + FRAME_MS;
  if (!run) { drawHeader(null); return; }
  const withTimes = isDirty && (viewTime !== null || now - timesDrawn > 250);
  if (withTimes || now - timesDrawn >= 500) timesDrawn = now;
  isDirty = false;
  viewed = run.at(shownTime());
  drawHeader(viewed);
  tree.draw(viewed, withTimes);
  panels[tab](viewed);
  if (run.head.mode !== "tree") {
    drawTime();
    chart.draw();
  }
  // A slow machine draws less often: half of its time is for input and events. The browser lays out and paints before it runs
  // this task. Time in an open dialog does not count; hence the maximum.
  setTimeout(() => { nextDraw = Math.max(nextDraw, now + 2 * Math.min(performance.now() - now, MAX_FRAME_MS)); });
}

function beginRun(head) {
  const isSame = run && head && JSON.stringify([run.head.tree, run.nodes.length, run.head.files]) === JSON.stringify([head.tree, head.nodes.length, head.files]);
  play(false);
  viewTime = null;
  byId("main").hidden = !head;
  byId("empty").hidden = Boolean(head);
  if (!head) { run = null; touch(); return; }
  run = new Run(head);
  document.title = `${head.tree} – navtree`;
  byId("title").textContent = head.tree;
  byId("timeline").hidden = head.mode === "tree";
  chart.measure();
  byId("live").textContent = head.mode === "live" ? "Live" : "End";
  byId("play").hidden = head.mode === "live";
  chart.span = head.mode === "live" ? "60" : "all";
  setSpan(chart.span);
  if (!isSame) {
    selected = -1;
    tree.build();
  } else tree.boxes.forEach((box) => { box.status = -1; });
  xml.build();
  buildProblems();
  if (!isSame) showTab(head.mode === "tree" ? "xml" : "log");
  touch();
}

function receive(name, data) {
  if (name === "run") beginRun(data);
  else if (name === "changes" && run) run.add(data);
  else if (name === "problems" && run) { run.head.problems = data; buildProblems(); }
  else if (name === "node") { robot = data; drawActs(); }
  touch();
}

let token = decodeURIComponent(location.hash.slice(1));
let chosenRobot = new URLSearchParams(location.search).get("robot");

// Asks the server about the chosen robot.
function ask(path, options, parameters = {}) {
  const query = new URLSearchParams(chosenRobot === null ? parameters : { ...parameters, robot: chosenRobot });
  return fetch(`${path}?${query}`, { headers: { Authorization: `Bearer ${token}` }, cache: "no-store", ...options });
}

// Offers the robots of the process, if there are several. Another robot is another address, which can be kept and sent.
// Without a choice, the first robot is chosen, for as long as the page is open: the first one may be another one later.
async function chooseRobot() {
  const response = await fetch("robots", { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
  const names = response.ok ? await response.json() : [];
  chosenRobot ??= names[0] ?? null;
  // The chosen one may have ended.
  const offered = chosenRobot === null || names.includes(chosenRobot) ? names : [chosenRobot, ...names];
  byId("robot").hidden = offered.length < 2;
  byId("robot").replaceChildren(...offered.map((name) => new Option(name, name, false, name === chosenRobot)));
}

async function connect() {
  await chooseRobot();
  const response = await ask("events", {}, { page: "" });
  if (response.status === 401) { askToken(); return false; }
  if (!response.ok) throw new Error(await response.text());
  isConnected = true;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return true;
    const parts = (buffer + value).split("\n\n");
    buffer = parts.pop();
    for (const part of parts) {
      const match = /^event: (\w+)\ndata: ([^]*)$/.exec(part);
      if (match) receive(match[1], JSON.parse(match[2]));
    }
  }
}

async function stayConnected() {
  byId("login").hidden = true;
  for (;;) {
    try {
      if (!(await connect())) return;
    } catch (error) {
      console.warn(error);
    }
    isConnected = false;
    touch();
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

function askToken() {
  for (const id of ["main", "empty"]) byId(id).hidden = true;
  byId("login").hidden = false;
  byId("status").textContent = "token needed";
  byId("token").focus();
}

function drawActs() {
  byId("acts").hidden = !robot || !robot.acts;
  if (!robot) return;
  byId("pause").textContent = robot.paused ? "Resume" : "Pause";
  byId("step").disabled = !robot.paused;
  byId("cancel").disabled = !robot.goal;
}

async function act(name) {
  try {
    const response = await ask(`act/${name}`, { method: "POST", signal: AbortSignal.timeout(3000) });
    const text = (await response.text()).trim();
    if (!response.ok) window.alert(`Not done: ${text}`);
  } catch (error) {
    window.alert(`The robot did not answer: ${error.message}`);
  }
}

function setSpan(span) {
  chart.span = span;
  for (const name of ["10", "60", "all"]) byId(`span-${name}`).setAttribute("aria-pressed", String(name === span));
  touch();
}

function setLayout(layout) {
  tree.layout = layout;
  tree.zoom = 1;
  tree.place();
  tree.fit();
}

function foldIdle() {
  tree.folded.clear();
  run.nodes.forEach((node, index) => { if (node.children.length && viewed && viewed.status[index] !== RUNNING) tree.folded.add(index); });
  tree.folded.delete(0);
  tree.place();
}

function find(text, step) {
  const word = text.trim().toLowerCase();
  const matches = word ? run.nodes.filter((node) => `${node.name} ${node.id}`.toLowerCase().includes(word)).map((node) => node.index) : [];
  tree.found = new Set(matches);
  tree.boxes.forEach((box) => { box.status = -1; });
  if (matches.length) {
    const next = matches.find((node) => node > selected) ?? matches[0];
    select(step ? next : matches[0], false);
  }
  touch();
}

// The keys of a tree, as in the ARIA practices.
function treeKey(event) {
  const current = Number(event.target.closest(".node")?.dataset.node ?? selected);
  if (!run || Number.isNaN(current) || current < 0) return;
  const seen = run.nodes.filter((node) => !tree.boxes[node.index].element.hidden).map((node) => node.index);
  const at = seen.indexOf(current);
  const node = run.nodes[current];
  const go = (target) => { if (target !== undefined && target !== null) select(target, true); };
  const actions = {
    ArrowDown: () => go(seen[at + 1]),
    ArrowUp: () => go(seen[at - 1]),
    Home: () => go(seen[0]),
    End: () => go(seen[seen.length - 1]),
    ArrowRight: () => (tree.folded.has(current) ? tree.fold(current, false) : go(node.children[0])),
    ArrowLeft: () => (node.children.length && !tree.folded.has(current) ? tree.fold(current, true) : go(node.parent)),
    Enter: () => select(current, true),
    " ": () => select(current, true),
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

function listen() {
  const on = (id, event, action) => byId(id).addEventListener(event, action);
  for (const layout of ["right", "down", "outline"]) on(`layout-${layout}`, "click", () => setLayout(layout));
  on("zoom-in", "click", () => tree.scale(tree.zoom * 1.25));
  on("zoom-out", "click", () => tree.scale(tree.zoom / 1.25));
  on("zoom-fit", "click", () => tree.fit());
  on("fold-idle", "click", foldIdle);
  on("unfold", "click", () => { tree.folded.clear(); tree.place(); });
  on("search", "input", (event) => find(event.target.value, false));
  on("search", "keydown", (event) => { if (event.key === "Enter") find(event.target.value, true); });
  on("tree", "keydown", treeKey);
  on("tree", "click", (event) => {
    const box = event.target.closest(".node");
    if (!box) return;
    const node = Number(box.dataset.node);
    if (event.target.closest(".fold")) tree.fold(node, !tree.folded.has(node));
    else select(node, true);
  });
  on("tree-scroll", "wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    tree.scale(tree.zoom * Math.exp(-event.deltaY / 300));
  });
  on("file", "change", (event) => xml.show(Number(event.target.value)));
  on("scrub", "input", (event) => { play(false); setTime(Number(event.target.value)); });
  on("back", "click", () => { play(false); stepTick(-1); });
  on("forward", "click", () => { play(false); stepTick(1); });
  on("play", "click", () => play(!playing));
  on("live", "click", () => { play(false); setTime(null); });
  for (const span of ["10", "60", "all"]) on(`span-${span}`, "click", () => setSpan(span));
  let isDragging = false;
  const scrubAt = (event) => {
    const canvas = byId("chart");
    const [from, to] = chart.range();
    const part = (event.offsetX - chart.gutter) / (canvas.clientWidth - chart.gutter - 8);
    if (part >= 0) { play(false); setTime(from + part * (to - from)); }
  };
  on("chart", "pointerdown", (event) => { isDragging = true; scrubAt(event); });
  on("chart", "pointermove", (event) => { if (isDragging) scrubAt(event); });
  window.addEventListener("pointerup", () => { isDragging = false; });
  window.addEventListener("resize", () => { if (run && tree.layout === "outline") tree.place(); });
  on("tree-scroll", "scroll", () => tree.look());
  new ResizeObserver(() => tree.look()).observe(byId("tree-scroll"));
  new ResizeObserver(() => chart.measure()).observe(byId("chart-scroll"));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.measure());
  on("pause", "click", () => act(robot && robot.paused ? "resume" : "pause"));
  on("step", "click", () => act("step"));
  on("cancel", "click", () => {
    // The goal that was shown when the button was pressed: another one may begin while the question is open.
    const goal = robot && robot.goal;
    if (goal && window.confirm("Cancel the navigation goal of the robot?")) act(`cancel/${goal}`);
  });
  on("robot", "change", (event) => { location.search = new URLSearchParams({ robot: event.target.value }); });
  on("login", "submit", (event) => {
    event.preventDefault();
    location.hash = byId("token").value.trim();
    token = byId("token").value.trim();
    stayConnected();
  });
}

buildTabs();
showTab("node");
listen();
requestAnimationFrame(draw);
if (token) stayConnected();
else askToken();
