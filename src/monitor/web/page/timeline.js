// The timeline: ticks, writes, recoveries, and the runs of leaves as bars.
"use strict";

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
