// The trace as the page asks for it: who moves when, what every variable holds at any step, where
// every process stands. Everything is answered from sorted arrays, so that a step into a trace of
// 100,000 steps costs a few binary searches.
"use strict";

const model = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const count = data.pid.length;
  // Of a crowd, the processes that never move are left out until all are asked for.
  const CROWD = 12;
  const everyone = data.processes.length, showsAll = /[#&]all\b/.test(location.hash);
  const movers = new Set([...data.pid, ...data.partner]);
  const isCrowd = everyone > CROWD && data.processes.some(([pid]) => !movers.has(pid));
  if (isCrowd && !showsAll) data.processes = data.processes.filter(([pid]) => movers.has(pid));
  const lanes = new Map(data.processes.map(([pid], lane) => [pid, lane]));

  /** First index in `list` whose value is greater than `value`. */
  function after(list, value) {
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] <= value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Per process: the steps it moves in or joins.
  const moves = data.processes.map(() => []);
  // Per variable: the steps that change it, and the values they leave.
  const changedAt = data.variables.map(() => []);
  const changedTo = data.variables.map(() => []);
  const preemptions = [];
  const runs = [];
  let mover = -1;
  for (let step = 0; step < count; step++) {
    moves[lanes.get(data.pid[step])].push(step);
    if (data.partner[step] >= 0) moves[lanes.get(data.partner[step])].push(step);
    if (data.switch[step] === 2) preemptions.push(step);
    if (data.pid[step] !== mover || step === data.cycle) runs.push(step);
    mover = data.partner[step] >= 0 ? data.partner[step] : data.pid[step];
    const list = data.changes[step];
    for (let i = 0; i < list.length; i += 2) {
      changedAt[list[i]].push(step);
      changedTo[list[i]].push(list[i + 1]);
    }
  }
  const output = new Map(data.output);
  const rest = new Map(data.rest.map((r) => [r[0], r]));

  /** Number of the value of a variable after `step` (-1: at the start); -1 when it does not exist. */
  function valueAt(variable, step) {
    const at = after(changedAt[variable], step);
    return at === 0 ? data.initial[variable] : changedTo[variable][at - 1];
  }

  function show(value) {
    if (value < 0) return "·";
    const v = data.values[value];
    return Array.isArray(v) ? (v.length ? v.join(" | ") : "empty") : String(v);
  }

  function nameOf(variable) { return data.strings[data.variables[variable]]; }

  /** The changes of a step in words. */
  const changeTexts = (step) => data.words[step].map((text) => data.strings[text]);

  /** Where a process stands after `step`. */
  function standsAt(lane, step) {
    const at = after(moves[lane], step);
    const pid = data.processes[lane][0];
    const before = at > 0 ? moves[lane][at - 1] : -1;
    const place = { ran: null, next: null, file: null, joins: -1, ended: false };
    if (before >= 0 && data.pid[before] === pid) {
      place.ran = { file: data.file[before], line: data.line[before], now: before === step };
    }
    if (at < moves[lane].length) {
      const next = moves[lane][at];
      if (data.pid[next] === pid) place.next = { file: data.file[next], line: data.line[next], text: data.text[next] };
      else place.joins = next;
    } else if (rest.has(pid)) {
      const [, file, line, text] = rest.get(pid);
      place.next = { file, line, text };
      place.ended = true;
    }
    // Without a place of its own a process still belongs to a file: that of any of its steps.
    const own = moves[lane].find((s) => data.pid[s] === pid);
    const known = place.next || place.ran;
    place.file = known ? known.file : own === undefined ? null : data.file[own];
    return place;
  }

  /** Whether channel `b` is another name of channel `a`: it has a message at some time, and the same
      content whenever it exists. */
  function sameChannel(a, b) {
    let used = false;
    const agree = (step) => {
      const value = valueAt(b, step);
      used = used || (value >= 0 && Array.isArray(data.values[value]) && data.values[value].length > 0);
      return value < 0 || value === valueAt(a, step);
    };
    return agree(-1) && changedAt[b].every(agree) && changedAt[a].every(agree) && used;
  }

  // Channels by the first of their names, with the others.
  const channelNames = new Map();
  data.channels.forEach((is, index) => {
    if (!is) return;
    const first = channelNames.size > 200 ? undefined : [...channelNames.keys()].find((known) => sameChannel(known, index));
    if (first === undefined) channelNames.set(index, []);
    else channelNames.get(first).push(index);
  });

  function describe(step) {
    if (step < 0) return "start";
    const line = data.line[step] ? `line ${data.line[step]} ` : "";
    return `${data.processes[lanes.get(data.pid[step])][1]} ${line}${data.strings[data.text[step]]}`;
  }

  /** Steps whose statement, process, changed variables, values or output contain the words. */
  function search(words) {
    const needle = words.trim().toLowerCase();
    if (!needle) return [];
    const has = (text) => text.toLowerCase().includes(needle);
    const texts = data.strings.map(has);
    const people = data.processes.map(([, label]) => has(label));
    const changes = new Map();
    const found = [];
    for (let step = 0; step < count; step++) {
      let hit = texts[data.text[step]] || people[lanes.get(data.pid[step])] ||
        (output.has(step) && has(output.get(step))) || (data.seen[step] || []).some((text) => texts[text]);
      const list = data.changes[step];
      for (let i = 0; !hit && i < list.length; i += 2) {
        const key = list[i] * 4294967296 + list[i + 1] + 1;
        if (!changes.has(key)) {
          changes.set(key, has(`${nameOf(list[i])} = ${show(list[i + 1])}`) || has(`${nameOf(list[i])}: ${show(list[i + 1])}`));
        }
        hit = changes.get(key);
      }
      if (hit) found.push(step);
    }
    return found;
  }

  return {
    data, count, lanes, moves, changedAt, changedTo, preemptions, runs, output, rest, channelNames,
    isCrowd, showsAll, everyone,
    after, valueAt, show, changeTexts, nameOf, standsAt, describe, search,
  };
})();

const $ = (id) => document.getElementById(id);

/** `1 step`, `2 steps`, `1,000 switches`. */
function plural(n, noun, many) {
  return `${n.toLocaleString("en")} ${n === 1 ? noun : many || noun + "s"}`;
}

/** A new element with a class and a text. Text is never markup. */
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** A new element whose text is shortened in its middle where there is no room: names often differ at their ends only. */
function shortened(tag, className, text) {
  const element = make(tag, (className ? className + " " : "") + "shortened");
  const tail = text.length > 8 ? Math.min(8, text.length >> 1) : 0;
  element.append(make("span", "head-part", text.slice(0, text.length - tail)), make("span", "tail-part", text.slice(text.length - tail)));
  element.title = text;
  return element;
}

/** A new SVG element with attributes. */
function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  if (text !== undefined) element.textContent = text;
  return element;
}
