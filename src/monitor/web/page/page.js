// The page of a run: reads the events of the server, keeps the run, and draws it. No other scripts.
"use strict";

const IDLE = 0, RUNNING = 1, SUCCESS = 2, FAILURE = 3, SKIPPED = 4, HALTED = 5;
const WORDS = ["idle", "running", "success", "failure", "skipped", "halted"];
const MARKS = ["·", "▶", "✔", "✘", "–", "■"];
const MAX_RECORDS = 400000;
const KEYFRAME = 5000;
const FRAME_MS = 50;
const MAX_BARS = 20000;
const MAX_ROWS = 40;

const byId = (id) => document.getElementById(id);

function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// A sign for what a node is, in front of its ID.
function glyph(node) {
  if (node.kind === "Control") {
    if (/Sequence|RoundRobin/.test(node.id)) return "→";
    if (/Fallback|Recovery|Selector/.test(node.id)) return "?";
    if (/Parallel/.test(node.id)) return "⇉";
    return "⋔";
  }
  return { Decorator: "◇", Condition: "○", SubTree: "▣" }[node.kind] || "▪";
}

// The second line of a node: what it is unless the name tells, and what it does.
function noteOf(node, text) {
  const what = node.name === node.id ? glyph(node) : `${glyph(node)} ${node.id}`;
  if (text && (tree.layout === "outline" || node.name === node.id)) return text;
  return text ? `${what} · ${text}` : node.name === node.id ? `${what} ${node.kind.toLowerCase()}` : what;
}

function duration(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 10) return s.toFixed(2) + " s";
  if (s < 100) return s.toFixed(1) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + Math.floor(s % 60) + " s";
  return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
}

// ---- The run -------------------------------------------------------------------------------------------------------

// What is known at one moment.
class State {
  constructor(count) {
    this.status = new Uint8Array(count);
    this.last = new Uint8Array(count);
    this.since = new Float64Array(count);
    this.count = new Uint32Array(count);
    this.reason = new Map();
    this.values = new Map();
    this.goals = new Map();
    this.ended = [];
    this.ticks = 0;
    this.missed = 0;
    this.lost = 0;
    this.time = 0;
    this.end = null;
    this.stopping = false;
    this.error = "";
  }

  copy() {
    const other = Object.assign(new State(0), this);
    for (const name of ["status", "last", "since", "count"]) other[name] = this[name].slice();
    for (const name of ["reason", "values", "goals"]) other[name] = new Map(this[name]);
    other.ended = this.ended.slice();
    return other;
  }

  apply(record, time) {
    this.time = time;
    switch (record[0]) {
      case "t": this.ticks += 1; break;
      case "c": this.change(record[1], record[2], time); break;
      case "h": this.last[record[1]] = HALTED; this.reason.set(record[1], { text: record[2], time }); break;
      case "s": this.last[record[1]] = SKIPPED; this.since[record[1]] = time; break;
      case "w": {
        const [, slot, by, value, type] = record;
        if (value === null) this.values.delete(slot);
        else this.values.set(slot, { value, by, type, time });
        break;
      }
      case "g": {
        const [, ticket, kind, leaf, server] = record;
        this.goals.set(ticket, { kind, leaf, server, time, state: "sent" });
        break;
      }
      case "n": {
        const goal = this.goals.get(record[1]);
        if (goal && record[2] !== "updated") this.goals.set(record[1], { ...goal, state: record[2] });
        break;
      }
      case "f": {
        const goal = this.goals.get(record[1]);
        if (!goal) break;
        this.goals.delete(record[1]);
        if (record[2] === "failed" && goal.leaf !== null) this.reason.set(goal.leaf, { text: record[3], time });
        this.ended.unshift({ ...goal, state: record[2], details: record[3], end: time });
        if (this.ended.length > 30) this.ended.length = 30;
        break;
      }
      case "d": this.missed += record[2]; break;
      case "x": this.error = record[1]; break;
      case "S": this.stopping = true; break;
      case "R": this.stopping = false; break;
      case "E": this.end = { status: record[1], code: record[2], message: record[3] }; break;
      case "l": this.lost += record[1]; break;
    }
  }

  change(node, status, time) {
    const before = this.status[node];
    this.status[node] = status;
    // A reset keeps the time of the result.
    if (status !== IDLE || before === RUNNING) this.since[node] = time;
    if (status === IDLE) return;
    if (before === IDLE || before !== RUNNING) this.count[node] += 1;
    // The reason of a failure comes with it, just before.
    if (status !== FAILURE || this.reason.get(node)?.time !== time) this.reason.delete(node);
    this.last[node] = status;
  }
}

class Run {
  constructor(head) {
    this.head = head;
    this.nodes = head.nodes;
    this.nodes.forEach((node, index) => {
      node.index = index;
      node.children = [];
      if (node.parent !== null) this.nodes[node.parent].children.push(index);
      node.depth = node.parent === null ? 0 : this.nodes[node.parent].depth + 1;
    });
    this.keys = head.keys.slice();
    this.first = new State(this.nodes.length);
    this.now = this.first.copy();
    this.records = [];
    this.times = [];
    this.frames = [];
    this.time = 0;
    this.bars = [];
    this.open = new Map();
    this.ticks = { time: [], took: [], missed: [] };
    this.writes = [];
    this.recoveries = [];
    this.log = [];
  }

  isLeaf(node) { return this.nodes[node].children.length === 0; }

  add(records) {
    for (const record of records) {
      if (record[0] === "t" || record[0] === "@") this.time = record[1];
      if (record[0] === "@") continue;
      if (record[0] === "k") { this.keys[record[1]] = record[2]; continue; }
      this.note(record);
      if (this.records.length % KEYFRAME === 0) this.frames.push(this.now.copy());
      this.now.apply(record, this.time);
      this.records.push(record);
      this.times.push(this.time);
    }
    if (this.records.length > MAX_RECORDS) this.forget();
    // Of a fast and large tree, only the last bars and lines are kept.
    for (const name of ["bars", "log"]) if (this[name].length > 2 * MAX_BARS) this[name].splice(0, this[name].length - MAX_BARS);
  }

  // Drops the oldest quarter.
  forget() {
    const frames = Math.floor(MAX_RECORDS / 4 / KEYFRAME);
    this.first = this.frames[frames];
    this.frames.splice(0, frames);
    this.records.splice(0, frames * KEYFRAME);
    this.times.splice(0, frames * KEYFRAME);
    const from = this.times[0];
    for (const name of ["bars", "log"]) this[name] = this[name].filter((item) => (item.end ?? item.time) >= from);
    this.writes = this.writes.filter((time) => time >= from);
    const cut = lowerBound(this.ticks.time, from);
    for (const list of Object.values(this.ticks)) list.splice(0, cut);
  }

  // Bars, marks and lines of the log.
  note(record) {
    const time = this.time;
    switch (record[0]) {
      case "c": {
        const [, node, status] = record;
        if (!this.isLeaf(node)) break;
        const bar = this.open.get(node);
        if (status === RUNNING && !bar) {
          this.open.set(node, { node, start: time, end: null, status: RUNNING });
          this.bars.push(this.open.get(node));
          this.say(time, node, "runs", "running");
        } else if (bar && status !== RUNNING) {
          this.open.delete(node);
          bar.end = time;
          if (status !== IDLE) bar.status = status;
          else if (bar.status === RUNNING) bar.status = HALTED;
          if (status !== IDLE) this.say(time, node, `${status === SUCCESS ? "succeeds" : "fails"} after ${duration(time - bar.start)}${this.why(node, status)}`, WORDS[status]);
        }
        break;
      }
      case "h":
        if (this.open.has(record[1])) this.open.get(record[1]).status = HALTED;
        if (this.isLeaf(record[1])) this.say(time, record[1], `is halted: ${record[2]}`, "halted");
        break;
      case "d":
        this.ticks.time.push(time);
        this.ticks.took.push(record[1]);
        this.ticks.missed.push(record[2]);
        break;
      case "w":
        this.writes.push(time);
        if (this.keys[record[1]] === "number_recoveries" && Number(record[3]) > 0) {
          this.recoveries.push(time);
          this.say(time, record[2], `recovery ${record[3]}`, "failure");
        }
        break;
      case "x": this.say(time, null, `the tree raised an error: ${record[1]}`, "failure"); break;
      case "H": this.say(time, null, `the tree is halted: ${record[1]}`, "halted"); break;
      case "R": this.say(time, null, "another goal replaces the goal; the tree continues", ""); break;
      case "E": this.say(time, null, endText({ status: record[1], code: record[2], message: record[3] }), record[1] === "succeeded" ? "success" : record[1] === "failed" ? "failure" : "halted"); break;
      case "l": this.say(time, null, `${record[1]} records are missing`, "failure"); break;
    }
  }

  why(node, status) {
    const reason = status === FAILURE && this.now.reason.get(node);
    return reason && reason.time === this.time ? `: ${reason.text}` : "";
  }

  say(time, node, text, kind) { this.log.push({ time, node, text, kind }); }

  // The state after everything up to a time.
  at(time) {
    if (time >= this.time) return this.now;
    const count = lowerBound(this.times, time + 1e-6);
    const frame = Math.min(Math.floor(count / KEYFRAME), this.frames.length - 1);
    const state = (frame < 0 ? this.first : this.frames[frame]).copy();
    for (let index = Math.max(0, frame) * KEYFRAME; index < count; index++) state.apply(this.records[index], this.times[index]);
    return state;
  }

  begin() { return this.times.length ? this.times[0] : 0; }
}

// The first index whose value is at least this one.
function lowerBound(sorted, value, key = (item) => item) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(sorted[middle]) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function endText(end) {
  const how = { succeeded: "succeeded", failed: "failed", canceled: "was cancelled" }[end.status] || end.status;
  return `the navigation ${how}${end.code ? ` (error code ${end.code})` : ""}${end.message ? `: ${end.message}` : ""}`;
}

// ---- The page ------------------------------------------------------------------------------------------------------

let run = null;
let robot = null; // What the node tells besides the run.
let viewed = null; // The shown state.
let viewTime = null; // null: the newest.
let playing = null;
let isConnected = false;
let selected = -1;
let isDirty = true;
let lastDraw = 0;

const touch = () => { isDirty = true; };

// The tree.
const tree = {
  layout: window.matchMedia("(max-width: 820px)").matches ? "outline" : "right",
  zoom: 1,
  folded: new Set(),
  boxes: [],
  edges: [],
  shown: [],
  found: new Set(),
  followed: 0,
  seen: { left: 0, top: 0, right: 0, bottom: 0 },

  build() {
    const root = byId("tree");
    root.replaceChildren();
    this.folded.clear();
    this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.svg.id = "edges";
    this.svg.setAttribute("aria-hidden", "true");
    root.append(this.svg);
    this.boxes = run.nodes.map((node) => this.box(node));
    this.edges = run.nodes.map((node) => {
      if (node.parent === null) return null;
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      this.svg.append(path);
      return path;
    });
    root.append(...this.boxes.map((box) => box.element));
    this.place();
    this.fit();
  },

  box(node) {
    const mark = make("span", { className: "mark", ariaHidden: "true", textContent: MARKS[0] });
    const name = make("span", { className: "name", textContent: node.name });
    const note = make("span", { className: "note", textContent: noteOf(node, "") });
    const fold = make("button", { className: "fold", type: "button", tabIndex: -1, ariaHidden: "true", textContent: "▾" });
    const element = make("div", { className: "node", role: "treeitem", tabIndex: -1, title: `${node.name} (${node.id})` }, mark, name, note, fold);
    element.setAttribute("aria-level", node.depth + 1);
    element.setAttribute("aria-selected", "false");
    element.dataset.node = node.index;
    return { element, mark, note, fold, status: -1, last: -1, text: "" };
  },

  isHidden(node) {
    for (let at = run.nodes[node].parent; at !== null; at = run.nodes[at].parent) if (this.folded.has(at)) return true;
    return false;
  },

  // The widths of the levels, for their names.
  columns() {
    const pen = byId("chart").getContext("2d");
    const family = getComputedStyle(document.body).fontFamily;
    const widths = [];
    for (const node of run.nodes) {
      pen.font = `600 14px ${family}`;
      const name = pen.measureText(node.name).width;
      pen.font = `12px ${family}`;
      const note = pen.measureText(noteOf(node, "00.0 s ago")).width;
      const width = Math.max(name, note) + (node.children.length ? 66 : 44);
      widths[node.depth] = Math.min(270, Math.max(widths[node.depth] || 130, width));
    }
    let x = 0;
    return widths.map((width) => {
      const column = { x, width };
      x += width + 30;
      return column;
    });
  },

  // Positions of all nodes that are not folded away.
  place() {
    const sizes = {
      right: { height: 44, along: 56 },
      down: { width: 176, height: 44, across: 188, along: 84 },
      outline: { height: 30, across: 18, along: 33 },
    }[this.layout];
    const margin = 12;
    const columns = this.columns();
    const positions = new Array(run.nodes.length).fill(null);
    let next = 0, depth = 0;
    const visit = (index) => {
      const node = run.nodes[index];
      depth = Math.max(depth, node.depth);
      const children = this.folded.has(index) ? [] : node.children;
      if (this.layout === "outline") {
        positions[index] = next++;
        children.forEach(visit);
      } else if (children.length === 0) {
        positions[index] = next++;
      } else {
        children.forEach(visit);
        positions[index] = (positions[children[0]] + positions[children[children.length - 1]]) / 2;
      }
    };
    visit(0);
    const outlineWidth = Math.max(300, byId("tree-scroll").clientWidth - 2 * margin - 18);
    this.boxes.forEach((box, index) => {
      const node = run.nodes[index];
      box.element.hidden = positions[index] === null;
      if (this.edges[index]) this.edges[index].style.display = positions[index] === null ? "none" : "";
      if (positions[index] === null) return;
      box.height = sizes.height;
      if (this.layout === "down") {
        box.width = sizes.width;
        [box.x, box.y] = [margin + positions[index] * sizes.across, margin + node.depth * sizes.along];
      } else {
        const column = columns[node.depth];
        box.width = this.layout === "right" ? column.width : Math.max(220, outlineWidth - node.depth * sizes.across);
        box.x = margin + (this.layout === "right" ? column.x : node.depth * sizes.across);
        box.y = margin + positions[index] * sizes.along;
      }
      Object.assign(box.element.style, { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` });
      const isLeaf = node.children.length === 0;
      box.fold.textContent = this.folded.has(index) ? "▸" : "▾";
      if (!isLeaf) box.element.setAttribute("aria-expanded", String(!this.folded.has(index)));
      [box.status, box.text] = [-1, null];
    });
    this.drawEdges();
    this.width = Math.max(...this.boxes.filter((box) => !box.element.hidden).map((box) => box.x + box.width)) + margin;
    this.height = Math.max(...this.boxes.filter((box) => !box.element.hidden).map((box) => box.y + box.height)) + margin;
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("height", this.height);
    byId("tree").classList.toggle("outline", this.layout === "outline");
    for (const name of ["right", "down", "outline"]) byId(`layout-${name}`).setAttribute("aria-pressed", String(name === this.layout));
    this.scale(this.zoom);
    this.setTabStop();
    touch();
  },

  drawEdges() {
    run.nodes.forEach((node, index) => {
      const box = this.boxes[index];
      if (node.parent === null || box.element.hidden) return;
      const parent = this.boxes[node.parent];
      let path;
      if (this.layout === "right") {
        const [x1, y1, x2, y2] = [parent.x + parent.width, parent.y + parent.height / 2, box.x, box.y + box.height / 2];
        const middle = (x1 + x2) / 2;
        path = `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
      } else if (this.layout === "down") {
        const [x1, y1, x2, y2] = [parent.x + parent.width / 2, parent.y + parent.height, box.x + box.width / 2, box.y];
        const middle = (y1 + y2) / 2;
        path = `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
      } else {
        path = `M${parent.x + 8} ${parent.y + parent.height}V${box.y + box.height / 2}H${box.x}`;
      }
      this.edges[index].setAttribute("d", path);
    });
  },

  scale(zoom) {
    this.zoom = Math.min(2, Math.max(0.15, zoom));
    byId("tree").style.transform = `scale(${this.zoom})`;
    Object.assign(byId("tree-size").style, { width: `${this.width * this.zoom}px`, height: `${this.height * this.zoom}px` });
    this.look();
  },

  // The whole tree if its text stays readable.
  fit() {
    const pane = byId("tree-scroll");
    const whole = Math.min((pane.clientWidth - 4) / this.width, (pane.clientHeight - 4) / this.height);
    const wide = (pane.clientWidth - 18) / this.width;
    this.scale(Math.min(1, Math.max(whole, Math.min(wide, 1), 0.45)));
  },

  setTabStop() {
    const stop = selected >= 0 && !this.boxes[selected].element.hidden ? selected : 0;
    this.boxes.forEach((box, index) => { box.element.tabIndex = index === stop ? 0 : -1; });
  },

  fold(node, isFolded) {
    if (run.nodes[node].children.length === 0) return;
    if (isFolded) this.folded.add(node);
    else this.folded.delete(node);
    this.place();
  },

  reveal(node) {
    for (let at = run.nodes[node].parent; at !== null; at = run.nodes[at].parent) this.folded.delete(at);
    this.place();
  },

  scrollTo(node) {
    const pane = byId("tree-scroll");
    const box = this.boxes[node];
    const [left, top] = [box.x * this.zoom, box.y * this.zoom];
    const [right, bottom] = [left + box.width * this.zoom, top + box.height * this.zoom];
    const isSeen = left >= pane.scrollLeft && right <= pane.scrollLeft + pane.clientWidth && top >= pane.scrollTop && bottom <= pane.scrollTop + pane.clientHeight;
    if (isSeen) return;
    const wide = this.layout === "outline" ? 0 : (left + right - pane.clientWidth) / 2;
    pane.scrollTo({ left: wide, top: (top + bottom - pane.clientHeight) / 2 });
  },

  // Remembers which part of the tree is on the screen. To ask for each picture would make the browser compute positions.
  look() {
    const pane = byId("tree-scroll");
    const [left, top] = [pane.scrollLeft / this.zoom, pane.scrollTop / this.zoom];
    this.seen = { left, top, right: left + pane.clientWidth / this.zoom, bottom: top + pane.clientHeight / this.zoom };
    touch();
  },

  isSeen(box) {
    const { left, top, right, bottom } = this.seen;
    return box.x <= right && box.x + box.width >= left && box.y <= bottom && box.y + box.height >= top;
  },

  // Only what has changed is written, and what is not on the screen twice a second: a tree of a thousand nodes is drawn 20 times
  // a second.
  draw(state, withTimes) {
    let follow = -1;
    for (let index = 0; index < this.boxes.length; index++) {
      const box = this.boxes[index];
      const status = state.status[index], last = state.last[index];
      if (status === RUNNING && status !== box.status && run.isLeaf(index) && !box.element.hidden) follow = index;
      if (box.element.hidden || !(withTimes || this.isSeen(box))) continue;
      const isChanged = status !== box.status || last !== box.last;
      if (isChanged) {
        const node = run.nodes[index];
        const kind = node.children.length === 0 ? "leaf " : "";
        box.element.className = `node ${kind}${node.kind.toLowerCase()} ${status === IDLE ? `was-${WORDS[last]}` : WORDS[status]}${this.found.has(index) ? " found" : ""}`;
        box.mark.firstChild.data = MARKS[status === IDLE ? last : status];
        if (this.edges[index]) this.edges[index].setAttribute("class", status === RUNNING ? "lit" : "");
        const words = status === IDLE && last !== IDLE ? `idle, last ${WORDS[last]}` : WORDS[status];
        box.element.setAttribute("aria-label", `${node.name}, ${node.id}, ${words}`);
        [box.status, box.last] = [status, last];
      }
      if (isChanged || withTimes) this.write(box, this.noteText(state, index));
    }
    // Not with each change: a look at positions makes the browser compute all of them.
    if (follow >= 0 && performance.now() - this.followed > 500 && byId("follow").checked) {
      this.followed = performance.now();
      this.scrollTo(follow);
    }
  },

  noteText(state, index) {
    const status = state.status[index], last = state.last[index];
    const reason = state.reason.get(index);
    const since = shownTime() - state.since[index];
    if (status === RUNNING) return duration(since);
    return last === IDLE ? "" : `${duration(since)} ago${reason ? `: ${reason.text}` : ""}`;
  },

  write(box, text) {
    if (box.text === text) return;
    box.text = text;
    box.note.firstChild.data = noteOf(run.nodes[box.element.dataset.node], text);
  },
};

function shownTime() { return viewTime === null ? (run ? run.time : 0) : viewTime; }

function select(node, withFocus) {
  if (selected >= 0 && tree.boxes[selected]) tree.boxes[selected].element.setAttribute("aria-selected", "false");
  selected = node;
  if (tree.isHidden(node)) tree.reveal(node);
  tree.setTabStop();
  const element = tree.boxes[node].element;
  element.setAttribute("aria-selected", "true");
  if (withFocus) element.focus({ preventScroll: true });
  tree.scrollTo(node);
  const place = run.nodes[node];
  if (place.file !== null) xml.show(place.file);
  if (tab === "xml") xml.scrollTo(place.line);
  else showTab("node");
  touch();
}

// ---- Details -------------------------------------------------------------------------------------------------------

const TABS = [["node", "Node"], ["blackboard", "Blackboard"], ["goals", "Goals"], ["log", "Log"], ["xml", "XML"], ["problems", "Problems"]];
let tab = "node";

function showTab(name) {
  tab = name;
  for (const [other] of TABS) {
    const isShown = other === name;
    byId(`panel-${other}`).hidden = !isShown;
    const button = byId(`tab-${other}`);
    button.setAttribute("aria-selected", String(isShown));
    button.tabIndex = isShown ? 0 : -1;
  }
  if (name === "xml" && selected >= 0) xml.scrollTo(run.nodes[selected].line);
  touch();
}

function buildTabs() {
  const buttons = TABS.map(([name, label]) => {
    const button = make("button", { id: `tab-${name}`, type: "button", role: "tab", textContent: label });
    button.setAttribute("aria-controls", `panel-${name}`);
    byId(`panel-${name}`).setAttribute("aria-labelledby", button.id);
    button.addEventListener("click", () => showTab(name));
    return button;
  });
  byId("tabs").append(...buttons);
  byId("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const index = TABS.findIndex(([name]) => name === tab);
    const [name] = TABS[(index + step + TABS.length) % TABS.length];
    showTab(name);
    byId(`tab-${name}`).focus();
  });
}

// Rows that change in place, so that a selection and the position of a reader stay.
function fillRows(body, rows) {
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((cells, index) => {
    const row = body.rows[index] || body.insertRow();
    cells.forEach((cell, column) => {
      const target = row.cells[column] || row.insertCell();
      const holder = cell.className === "value" ? target.firstElementChild || target.appendChild(make("div")) : target;
      if (holder.textContent !== cell.text) holder.textContent = cell.text;
      const className = [cell.className, cell.isFresh ? "fresh" : ""].filter(Boolean).join(" ");
      if (target.className !== className) target.className = className;
    });
  });
}

function emptyText(panel, text, isEmpty) {
  panel.classList.toggle("empty", isEmpty);
  panel.dataset.empty = text;
}

const nameOf = (node) => (node === null || node === undefined ? "the navigator" : run.nodes[node].name);

const panels = {
  node(state) {
    const panel = byId("panel-node");
    emptyText(panel, "Select a node of the tree.", selected < 0);
    if (selected < 0) return;
    const node = run.nodes[selected];
    const status = state.status[selected], last = state.last[selected];
    const shown = status === IDLE ? last : status;
    const text = shown === IDLE ? "has not run yet" : `${WORDS[shown]} ${status === RUNNING ? "for " : ""}${tree.noteText(state, selected)}`;
    const key = [run.head.tree, selected, shown, status].join();
    if (panel.dataset.key === key) {
      panel.querySelector(".live").textContent = text;
      panel.querySelector(".count").textContent = String(state.count[selected]);
      return;
    }
    panel.dataset.key = key;
    const ports = make("tbody", {}, ...node.ports.map(([name, value]) => make("tr", {}, make("th", { scope: "row", textContent: name }), make("td", { className: "value", textContent: value }))));
    const place = node.file === null ? [] : [make("button", { className: "link", type: "button", textContent: `${run.head.files[node.file].name}:${node.line}`, onclick: () => showTab("xml") })];
    panel.replaceChildren(
      make("h2", { textContent: node.name }),
      make("p", { className: "faint", textContent: `${node.id} · ${node.kind}` }),
      make("p", {}, make("span", { className: `live ${WORDS[shown]}-text`, textContent: text })),
      make("p", {}, "activations: ", make("span", { className: "count", textContent: String(state.count[selected]) })),
      make("h3", { textContent: "Ports" }),
      node.ports.length ? make("table", {}, ports) : make("p", { className: "faint", textContent: "none" }),
      make("h3", { textContent: "Place" }),
      ...place,
      make("p", { className: "faint", textContent: node.path }),
    );
  },

  blackboard(state) {
    const now = shownTime();
    const rows = [...state.values].map(([slot, entry]) => [run.keys[slot] || `#${slot}`, entry]);
    rows.sort((left, right) => (left[0] < right[0] ? -1 : 1));
    emptyText(byId("panel-blackboard"), run.head.mode === "tree" ? "A tree that does not run has no values." : "The blackboard is empty.", rows.length === 0);
    fillRows(byId("blackboard"), rows.map(([key, entry]) => [
      { text: key },
      { text: entry.value, className: "value" },
      { text: nameOf(entry.by) },
      { text: duration(now - entry.time), className: "time", isFresh: now - entry.time < 500 && entry.time > 0 },
    ]));
  },

  goals(state) {
    const now = shownTime();
    const live = [...state.goals.values()].map((goal) => ({ ...goal, shown: goal.state, text: "running-text", age: now - goal.time }));
    const ended = state.ended.map((goal) => ({ ...goal, shown: goal.details ? `${goal.state}: ${goal.details}` : goal.state, text: { succeeded: "success-text", failed: "failure-text" }[goal.state] || "halted-text", age: goal.end - goal.time }));
    const tracked = (viewTime === null && robot && robot.goals ? robot.goals : []).map((goal) => ({ leafName: goal.leaf, server: goal.server, shown: goal.state, text: "halted-text", age: goal.age }));
    const rows = [...tracked, ...live, ...ended];
    emptyText(byId("panel-goals"), "No goals and calls yet.", rows.length === 0);
    fillRows(byId("goals"), rows.map((goal) => [
      { text: goal.leafName || (goal.leaf === null ? "?" : nameOf(goal.leaf)) },
      { text: goal.kind === "call" || goal.kind === "cancel" ? `${goal.server} (${goal.kind})` : goal.server },
      { text: goal.shown, className: goal.text },
      { text: goal.age === undefined ? "" : duration(goal.age), className: "time" },
    ]));
  },

  log() {
    const now = shownTime();
    const end = lowerBound(run.log, now + 1e-6, (line) => line.time);
    const lines = run.log.slice(Math.max(0, end - 200), end).reverse();
    const panel = byId("panel-log");
    emptyText(panel, "Nothing has happened yet.", lines.length === 0);
    const key = `${end}.${run.log.length && lines.length ? lines[0].time : 0}`;
    if (panel.dataset.key === key) return;
    panel.dataset.key = key;
    byId("log").replaceChildren(...lines.map((line) => {
      const text = make("span", {}, make("span", { className: `${line.kind}-text`, textContent: line.node === null ? "" : `${nameOf(line.node)} ` }), line.text);
      return make("li", {}, make("time", { textContent: (line.time / 1000).toFixed(2) + " s" }), text);
    }));
  },

  xml(state) { xml.draw(state); },
  problems() {},
};

// The text of the files, with the lines of running nodes marked.
const xml = {
  file: -1,
  lines: [],
  lit: [],

  build() {
    this.file = -1;
    byId("file").replaceChildren(...run.head.files.map((file, index) => make("option", { value: index, textContent: file.name.split("/").pop(), title: file.name })));
    emptyText(byId("panel-xml"), "The files of the tree are not known.", run.head.files.length === 0);
    if (run.head.files.length) this.show(0);
  },

  show(file) {
    if (file === this.file) return;
    this.file = file;
    byId("file").value = file;
    this.lines = run.head.files[file].text.split("\n").map(colored);
    this.lit = [];
    byId("xml").replaceChildren(...this.lines);
    touch();
  },

  draw(state) {
    const lit = new Map();
    run.nodes.forEach((node, index) => {
      if (node.file === this.file && node.line && state.status[index] === RUNNING) lit.set(node.line, node.children.length === 0 ? "lit leaf" : "lit");
    });
    const chosen = selected >= 0 && run.nodes[selected].file === this.file ? run.nodes[selected].line : 0;
    this.lines.forEach((line, index) => {
      const className = [lit.get(index + 1) || "", chosen === index + 1 ? "chosen" : ""].filter(Boolean).join(" ");
      if (line.className !== className) line.className = className;
      const isRunning = className.startsWith("lit");
      if (isRunning && !line.hasAttribute("aria-current")) line.setAttribute("aria-current", "step");
      else if (!isRunning) line.removeAttribute("aria-current");
    });
  },

  scrollTo(line) {
    const target = this.lines[line - 1];
    if (target) target.scrollIntoView({ block: "center", inline: "nearest" });
  },
};

// A line of XML with marked tags, strings and comments.
function colored(text) {
  const line = make("div");
  let at = 0;
  for (const match of text.matchAll(/<!--.*?-->|<\/?[\w.:-]+|\/?>|"[^"]*"/g)) {
    if (match.index > at) line.append(text.slice(at, match.index));
    const first = match[0];
    const className = first.startsWith("<!--") ? "comment" : first.startsWith('"') ? "string" : "tag";
    line.append(make("span", { className, textContent: first }));
    at = match.index + first.length;
  }
  line.append(text.slice(at) || (at ? "" : " "));
  return line;
}

function buildProblems() {
  const list = run.head.problems;
  emptyText(byId("panel-problems"), "navtree check finds no problems in the files.", list.length === 0);
  byId("tab-problems").textContent = list.length ? `Problems (${list.length})` : "Problems";
  byId("problems").replaceChildren(...list.map((problem) => {
    const kind = problem.severity === "error" ? "failure-text" : "running-text";
    const file = run.head.files.findIndex((other) => other.name === problem.file);
    const place = make("button", { className: "link", type: "button", textContent: `${problem.file.split("/").pop()}:${problem.line}` });
    place.addEventListener("click", () => {
      if (file < 0) return;
      xml.show(file);
      showTab("xml");
      xml.scrollTo(problem.line);
    });
    return make("li", {}, make("span", { className: kind, textContent: `${problem.severity} ${problem.code} ` }), place, make("p", { textContent: problem.message }), make("p", { className: "faint", textContent: problem.help || "" }));
  }));
}

// ---- Timeline ------------------------------------------------------------------------------------------------------

const chart = {
  span: "all",
  rowHeight: 17,
  gutter: 150,
  width: 0,
  colors: null,

  // Sizes and colours. To look them up for each picture would make the browser compute all positions again.
  measure() {
    this.width = byId("chart").parentElement.clientWidth;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colors = { ink: color("ink"), faint: color("faint"), line: color("line"), accent: color("accent"), failure: color("failure"), status: ["faint", "running", "success", "failure", "skipped", "halted"].map(color) };
    touch();
  },

  range() {
    const [begin, end] = [run.begin(), Math.max(run.time, run.begin() + 1000)];
    if (this.span === "all") return [begin, end];
    const length = Number(this.span) * 1000;
    const to = Math.max(begin + length, viewTime === null ? end : Math.min(end, viewTime + length / 2));
    return [to - length, to];
  },

  // The leaves of the last bars up to the end of the shown time.
  leaves(to) {
    const found = new Set();
    for (let index = run.bars.length - 1; index >= 0 && found.size < MAX_ROWS; index--) if (run.bars[index].start <= to) found.add(run.bars[index].node);
    return [...found].sort((left, right) => left - right);
  },

  draw() {
    const canvas = byId("chart");
    const [from, to] = this.range();
    const leaves = this.leaves(this.span === "all" ? Infinity : to);
    const { width, colors } = this;
    const height = 44 + Math.max(1, leaves.length) * this.rowHeight + 4;
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
    }
    this.gutter = width < 600 ? 96 : 170;
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const x = (time) => this.gutter + ((time - from) / (to - from)) * (width - this.gutter - 8);
    pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    this.drawAxis(pen, x, from, to, height, colors);
    this.drawTicks(pen, x, from, to, width, colors);
    this.drawBars(pen, x, from, to, leaves, width, colors);
    const at = x(shownTime());
    pen.fillStyle = colors.accent;
    if (at >= this.gutter && at <= width) pen.fillRect(at - 0.75, 0, 1.5, height);
    canvas.setAttribute("aria-label", `Timeline from ${duration(from)} to ${duration(to)}: ${run.bars.length} runs of ${leaves.length} leaves, ${run.recoveries.length} recoveries, ${run.now.missed} ticks missed. The log tells them in words.`);
  },

  drawAxis(pen, x, from, to, height, colors) {
    const steps = [100, 200, 500, 1000, 2000, 5000, 10000, 20000, 30000, 60000, 120000, 300000, 600000, 3600000];
    const step = steps.find((candidate) => (to - from) / candidate <= 12) || 7200000;
    pen.strokeStyle = colors.line;
    pen.fillStyle = colors.faint;
    pen.lineWidth = 1;
    pen.beginPath();
    for (let time = Math.ceil(Math.max(0, from) / step) * step; time <= to; time += step) {
      const at = Math.round(x(time)) + 0.5;
      pen.moveTo(at, 0);
      pen.lineTo(at, height);
      pen.fillText(step < 1000 ? `${(time / 1000).toFixed(1)} s` : `${time / 1000} s`, at + 3, 10);
    }
    pen.stroke();
    pen.fillStyle = colors.ink;
    pen.fillText("tick time", 10, 26);
    pen.fillText("writes, recoveries", 10, 41);
  },

  // The longest tick of each pixel.
  drawTicks(pen, x, from, to, width, colors) {
    const { time, took, missed } = run.ticks;
    const first = lowerBound(time, from), last = lowerBound(time, to + 1);
    let longest = 100;
    for (let index = first; index < last; index++) longest = Math.max(longest, took[index]);
    const columns = new Map();
    for (let index = first; index < last; index++) {
      const at = Math.floor(x(time[index]));
      const column = columns.get(at) || [0, 0];
      columns.set(at, [Math.max(column[0], took[index]), column[1] + missed[index]]);
    }
    for (const [at, [time, missed]] of columns) {
      const tall = Math.max(1, (Math.log(1 + time / 10) / Math.log(1 + longest / 10)) * 16);
      pen.fillStyle = missed ? colors.failure : colors.faint;
      pen.fillRect(at, 30 - (missed ? 16 : tall), missed ? 2 : 1, missed ? 16 : tall);
    }
    pen.fillStyle = colors.accent;
    for (const at of new Set(run.writes.slice(lowerBound(run.writes, from), lowerBound(run.writes, to + 1)).map((time) => Math.floor(x(time))))) pen.fillRect(at, 35, 1.5, 7);
    pen.fillStyle = colors.failure;
    for (const time of run.recoveries) {
      const at = x(time);
      if (time < from || time > to) continue;
      pen.beginPath();
      pen.moveTo(at, 31);
      pen.lineTo(at + 6, 43);
      pen.lineTo(at - 6, 43);
      pen.fill();
    }
  },

  drawBars(pen, x, from, to, leaves, width, colors) {
    const row = new Map(leaves.map((leaf, index) => [leaf, 46 + index * this.rowHeight]));
    // Of bars that are narrower than a pixel, one is drawn.
    const drawn = new Map();
    for (const bar of run.bars) {
      const end = bar.end === null ? run.time : bar.end;
      if (end < from || bar.start > to || !row.has(bar.node)) continue;
      const left = Math.max(this.gutter, x(bar.start)), right = Math.min(width - 8, x(end));
      if (right < drawn.get(bar.node)) continue;
      drawn.set(bar.node, Math.max(right, left + 1));
      pen.fillStyle = colors.status[bar.status];
      pen.fillRect(left, row.get(bar.node) + 3, Math.max(2, right - left), this.rowHeight - 6);
    }
    pen.fillStyle = colors.ink;
    for (const leaf of leaves) {
      let name = run.nodes[leaf].name;
      while (name.length > 3 && pen.measureText(name).width > this.gutter - 18) name = `${name.slice(0, -2)}…`;
      pen.fillText(name, 10, row.get(leaf) + 12);
    }
  },
};

function setTime(time) {
  viewTime = time === null ? null : Math.min(Math.max(time, run.begin()), run.time);
  if (viewTime !== null && viewTime >= run.time && run.head.mode === "live") viewTime = null;
  touch();
}

function stepTick(direction) {
  const times = run.times, records = run.records;
  let index = lowerBound(times, shownTime() + (direction > 0 ? 1e-6 : 0)) - (direction > 0 ? 0 : 1);
  while (index >= 0 && index < records.length && records[index][0] !== "t") index += direction;
  if (index >= 0 && index < records.length) setTime(times[index]);
}

function play(isOn) {
  playing = isOn ? { from: shownTime() >= run.time ? run.begin() : shownTime(), start: performance.now() } : null;
  byId("play").textContent = isOn ? "Stop" : "Play";
  touch();
}

// ---- Drawing -------------------------------------------------------------------------------------------------------

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
    facts.push(navigation.action + (goal ? ` to (${goal[0].toFixed(2)}, ${goal[1].toFixed(2)})` : ""));
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
  if (now - lastDraw < FRAME_MS) return;
  if (playing && run) {
    setTime(playing.from + (now - playing.start));
    if (shownTime() >= run.time) play(false);
  }
  if (!isDirty && now - timesDrawn < 500) return;
  if (!run) { lastDraw = now; drawHeader(null); return; }
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
  // A slow machine draws less often: half of its time is for input and events.
  lastDraw = Math.max(now, 2 * performance.now() - now - FRAME_MS);
}

// ---- Events of the server ------------------------------------------------------------------------------------------

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
  else if (name === "node") { robot = data; drawActs(); }
  touch();
}

let token = decodeURIComponent(location.hash.slice(1));

async function connect() {
  const response = await fetch("events", { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
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

// ---- Acts ----------------------------------------------------------------------------------------------------------

function drawActs() {
  byId("acts").hidden = !robot || !robot.acts;
  if (!robot) return;
  byId("pause").textContent = robot.paused ? "Resume" : "Pause";
  byId("step").disabled = !robot.paused;
  byId("cancel").disabled = !robot.running;
}

async function act(name) {
  const response = await fetch(`act/${name}`, { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  const text = (await response.text()).trim();
  if (!response.ok) window.alert(text);
}

// ---- Input ---------------------------------------------------------------------------------------------------------

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
  on("cancel", "click", () => { if (window.confirm("Cancel the navigation goal of the robot?")) act("cancel"); });
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
