// The tabs beside the tree.
"use strict";

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
  const list = run.head.problems || [];
  const none = run.head.problems ? "navtree check finds no problems in the files." : "The files are not checked yet.";
  emptyText(byId("panel-problems"), none, list.length === 0);
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
