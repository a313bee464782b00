// The run: its records, and its state at any time.
"use strict";

const IDLE = 0, RUNNING = 1, SUCCESS = 2, FAILURE = 3, SKIPPED = 4, HALTED = 5;
const WORDS = ["idle", "running", "success", "failure", "skipped", "halted"];
const MARKS = ["·", "▶", "✔", "✘", "–", "■"];
const MAX_RECORDS = 400000;
const KEYFRAME = 5000;
const FRAME_MS = 50;
const MAX_FRAME_MS = 500;
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
      case "L": this.say(time, null, `[${record[1]}] ${record[2]}`, ""); break;
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
