// The tree: boxes, edges, folding, zoom.
"use strict";

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
  quarter: 0,
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

  // Only what has changed is written: a tree of a thousand nodes is drawn 20 times a second. What is not on the screen is for
  // screen readers and for the browser's search: a quarter of it is written with the times.
  draw(state, withTimes) {
    let follow = -1;
    if (withTimes) this.quarter = (this.quarter + 1) % 4;
    for (let index = 0; index < this.boxes.length; index++) {
      const box = this.boxes[index];
      const status = state.status[index], last = state.last[index];
      if (status === RUNNING && status !== box.status && run.isLeaf(index) && !box.element.hidden) follow = index;
      const isTurn = withTimes && index % 4 === this.quarter;
      if (box.element.hidden || !(isTurn || this.isSeen(box))) continue;
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
