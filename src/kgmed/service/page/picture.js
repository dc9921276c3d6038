// The evidence as a picture of layers: what was asked about, the roles of what is said of it, the things in each role.
// No forces: the same evidence always gives the same picture, read from left to right, on a phone from top to bottom.

import { html, useLayoutEffect, useMemo, useRef, useState } from "./vendor/htm-preact.js";
import { FactCard, keyOf, link, useId } from "./parts.js";
import { number, roleName, SAFETY, t } from "./words.js";

const MOST = 12; // things shown of a group
const DEEPEST = 4; // layers
const CALM = 8; // lines that cross the layers; of more, those of the chosen box or citation
const PILL = 32, GAP = 6, HEAD = 26, PAD = 10, BETWEEN = 14, LANE = 64, NARROW = 620, INDENT = 18; // pixels

/** The tree behind the picture: roots, each with groups by role, each with nodes; and the facts that cross it.
 *  `facts` = [{ triple, numbers }], `asked` = the entities that it begins with. */
export function grow(facts, asked) {
  const nodes = new Map();
  const ends = facts.map((fact) => {
    const { head, tail } = fact.triple;
    const pair = [keyOf(head), keyOf(tail, head)];
    [head, tail].forEach((entity, i) => nodes.has(pair[i]) || nodes.set(pair[i], { key: pair[i], entity, groups: [], facts: [], depth: -1 }));
    return pair.map((key) => nodes.get(key));
  });
  ends.forEach(([a, b], i) => [a, b].forEach((node) => node.facts.push({ ...facts[i], other: node === a ? b : a })));
  const roots = [];
  const reach = (starts) => {
    let layer = starts;
    for (let depth = 1; layer.length && depth < DEEPEST; depth += 1) layer = layer.flatMap((node) => bear(node, depth));
  };
  const start = (node, depth = 0) => ((node.depth = depth), roots.push(node), node);
  const wanted = asked.map((e) => nodes.get(keyOf(e))).filter((n, i, all) => n && all.indexOf(n) === i);
  const apart = wanted.filter((n, i) => !wanted.slice(0, i).some((m) => m.facts.some((f) => f.other === n)));
  reach(apart.map((n) => start(n)));
  const busiest = [...nodes.values()].sort((a, b) => b.facts.length - a.facts.length);
  for (const node of busiest) if (node.depth < 0 && (!roots.length || node.facts.every((f) => f.other.depth < 0))) reach([start(node)]);
  const crossing = ends.map(([a, b], i) => ({ a, b, fact: facts[i] }));
  return { roots, nodes, crossing: crossing.filter(({ a, b }) => a.depth >= 0 && b.depth >= 0 && a.parent !== b && b.parent !== a) };
}

/** The nodes that a node leads to and that nothing led to yet, put into its groups by role. */
function bear(node, depth) {
  const born = [];
  for (const { triple, other } of node.facts) {
    if (other.depth >= 0) continue;
    const subject = triple.relation.reverse ? triple.tail : triple.head;
    const back = keyOf(subject, triple.head) !== node.key;
    const name = `${triple.relation.role}${back ? " back" : ""}`;
    let group = node.groups.find((g) => g.name === name);
    if (!group) node.groups.push((group = { name, role: triple.relation.role, back, nodes: [], key: `${node.key}\n${name}` }));
    Object.assign(other, { depth, parent: node, group });
    group.nodes.push(other);
    born.push(other);
  }
  return born;
}

/** Whether a warning hangs on a thing: such a one is never hidden. */
const warns = (node) => node.groups.some((g) => SAFETY.includes(g.role));

/** Where everything is drawn: { pills, panels, edges, height }. Of a group the first are shown, those that are `wanted`,
 *  and all where its key is `opened`. */
export function place(tree, width, opened, wanted = (node) => false) {
  const outline = width < NARROW;
  const deepest = Math.max(0, ...[...tree.nodes.values()].map((n) => n.depth));
  const column = Math.min(260, (width - deepest * LANE) / (deepest + 1) - 2 * PAD);
  const made = { pills: [], panels: [], edges: [], outline };
  const put = (pill) => (made.pills.push(pill), pill);
  const box = (node, x, y, w) => Object.assign(node, { x, y, w, at: put({ key: node.key, node, x, y, w }) });

  const group = (parent, g, x, y, w) => {
    const shown = opened.has(g.key) ? g.nodes : g.nodes.filter((n, i) => i < MOST || wanted(n) || warns(n));
    const hidden = g.nodes.length - shown.length;
    const plain = shown.every((n) => !n.groups.length);
    const inner = w - 2 * PAD;
    const wide = plain ? Math.max(1, Math.floor((inner + GAP) / ((outline ? 132 : 190) + GAP))) : 1;
    const each = wide > 1 || outline ? (inner - (wide - 1) * GAP) / wide : Math.min(inner, column);
    const across = Math.min(wide, shown.length) * (each + GAP) - GAP + 2 * PAD;
    const panel = { group: g, parent, x, y, w: outline ? w : Math.min(w, plain ? Math.max(across, 150) : column + 2 * PAD) };
    made.panels.push(panel);
    let down = y + HEAD;
    const foldable = hidden > 0 || (opened.has(g.key) && g.nodes.length > MOST);
    const cells = foldable ? [...shown, null] : shown;
    if (plain) {
      cells.forEach((n, i) => {
        const at = [x + PAD + (i % wide) * (each + GAP), down + Math.floor(i / wide) * (PILL + GAP)];
        n ? box(n, ...at, each) : put({ key: `${g.key} more`, more: g, hidden, x: at[0], y: at[1], w: each });
      });
      down += Math.ceil(cells.length / wide) * (PILL + GAP);
      panel.h = down - y + PAD - GAP;
      return panel.y + panel.h;
    }
    let beside = y;
    for (const n of shown) {
      box(n, x + PAD, down, each);
      if (outline) down = below(n, x + PAD + INDENT, down + PILL + GAP, w - 2 * PAD - INDENT) + GAP;
      else {
        if (n.groups.length) down = n.y = n.at.y = Math.max(down, beside + HEAD);
        beside = n.groups.length ? below(n, panel.x + panel.w + LANE, down - HEAD, width - panel.x - panel.w - LANE) + BETWEEN : beside;
        down += PILL + GAP;
      }
    }
    if (foldable) {
      put({ key: `${g.key} more`, more: g, hidden, x: x + PAD, y: down, w: each });
      down += PILL + GAP;
    }
    panel.h = down - y + PAD - GAP;
    return Math.max(panel.y + panel.h, outline ? 0 : beside - BETWEEN);
  };
  const below = (node, x, y, w) => {
    let down = y;
    node.groups.forEach((g, i) => {
      const from = made.panels.length;
      down = group(node, g, x, down + (i ? BETWEEN : 0), w);
      made.edges.push({ from: node, to: made.panels[from], group: g });
    });
    return down;
  };

  let y = 4;
  for (const root of tree.roots) {
    const w = outline ? width - 4 : Math.min(column, 230);
    box(root, 2, y, w);
    if (outline) y = below(root, 2 + INDENT, y + PILL + GAP + 4, width - 4 - INDENT) + BETWEEN * 2;
    else {
      const end = root.groups.length ? below(root, 2 + w + LANE, y, width - w - LANE - 4) : y + PILL;
      if (root.groups.length && end - y < 420) root.y = root.at.y = (y + end - PILL) / 2;
      y = Math.max(end, y + PILL) + BETWEEN * 2;
    }
  }
  return { ...made, height: Math.max(PILL + 8, y - BETWEEN * 2 + 6) };
}

const cells = (text) => [...text].reduce((sum, c) => sum + (/[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60]/.test(c) ? 13.5 : /[A-ZmwMW]/.test(c) ? 8.8 : 6.8), 0);

/** As much of a text as so many pixels hold. */
export function fit(text, pixels) {
  if (cells(text) <= pixels) return text;
  const letters = [...text];
  while (letters.length > 1 && cells(letters.join("")) > pixels - 10) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}

/** The nearest pill in the direction of an arrow key. */
export function nearest(pills, from, key) {
  const along = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[key];
  if (!along) return null;
  const middle = (p) => [p.x + (along[0] ? (along[0] > 0 ? 0 : p.w) : p.w / 2), p.y + PILL / 2];
  const start = [from.x + (along[0] > 0 ? 0 : along[0] < 0 ? from.w : from.w / 2), from.y + PILL / 2];
  let best = null, least = Infinity;
  for (const pill of pills) {
    const [dx, dy] = middle(pill).map((v, i) => v - start[i]);
    const ahead = dx * along[0] + dy * along[1];
    const aside = Math.abs(along[0] ? dy : dx);
    if (pill === from || ahead < 8) continue;
    const far = ahead + aside * 2.5;
    if (far < least) [best, least] = [pill, far];
  }
  return best;
}

/** The picture of some facts, and under it the facts of the box that was opened; `marked` = the citation in colour,
 *  `totals` = how many facts of a role there are in all, `expand` brings what is known of a box into the picture. */
export function Picture({ facts, asked, graphs, graph = "", marked = 0, goal = "", totals = {}, expand, label }) {
  const frame = useRef(null);
  const [width, setWidth] = useState(0);
  const [opened, open] = useState(new Set());
  const [at, go] = useState("");
  const [chosen, choose] = useState("");
  const help = useId("picture-help");
  useLayoutEffect(() => {
    const measure = () => frame.current && setWidth(frame.current.clientWidth);
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(frame.current);
    return () => watch.disconnect();
  }, []);
  const tree = useMemo(() => grow(facts, asked), [facts]);
  const hot = (node) => marked > 0 && node.facts.some((f) => f.numbers.includes(marked));
  const drawn = useMemo(() => (width ? place(tree, width, opened, hot) : null), [tree, width, opened, marked]);
  if (!facts.length) return html`<p class="hint">${t("noPicture")}</p>`;

  const current = drawn && (drawn.pills.find((p) => p.key === at) || drawn.pills[0]);
  const act = (pill) => {
    go(pill.key);
    if (!pill.more) return choose(chosen === pill.key ? "" : pill.key);
    const next = new Set(opened);
    next.has(pill.more.key) ? next.delete(pill.more.key) : next.add(pill.more.key);
    open(next);
  };
  const keys = (event) => {
    if (event.key === "Escape") return choose("");
    if (event.key === "Enter" || event.key === " ") return event.preventDefault(), act(current);
    const ends = { Home: drawn.pills[0], End: drawn.pills[drawn.pills.length - 1] }[event.key];
    const to = ends || nearest(drawn.pills, current, event.key);
    if (!to) return;
    event.preventDefault();
    const next = [...frame.current.querySelectorAll("[data-key]")].find((g) => g.dataset.key === to.key);
    if (next) next.focus();
  };
  const there = drawn ? tree.crossing.filter(({ a, b }) => drawn.pills.includes(a.at) && drawn.pills.includes(b.at)) : [];
  const own = ({ a, b, fact }) => fact.numbers.includes(marked) || a.key === chosen || b.key === chosen;
  const crossing = there.length > CALM ? there.filter(own) : there;
  const wanted = new Set(asked.map((e) => keyOf(e)));
  const node = chosen && tree.nodes.get(chosen);
  return html`<div class="picture" ref=${frame}>
    <p class="unseen" id=${help}>${t("pictureHelp")}</p>
    ${drawn &&
    html`<div class="drawn"><svg width=${width} height=${drawn.height} viewBox=${`0 0 ${width} ${drawn.height}`} role="group" aria-label=${label || t("picture")} aria-describedby=${help}>
      ${drawn.edges.map((edge) => html`<${Edge} edge=${edge} outline=${drawn.outline} hot=${edge.group.nodes.some((n) => hot(n) && hot(edge.from))} />`)}
      ${crossing.map(({ a, b, fact }) => html`<${Crossing} a=${a} b=${b} hot=${fact.numbers.includes(marked)} role=${fact.triple.relation.role} />`)}
      ${drawn.panels.map((panel) => html`<${Panel} panel=${panel} all=${panel.parent.depth === 0 && panel.parent.groups.filter((g) => g.role === panel.group.role).length === 1 && totals[panel.group.role]} />`)}
      ${drawn.pills.map((pill) => html`<${Pill} key=${pill.key} pill=${pill} hot=${pill.node && hot(pill.node)} goal=${pill.key === goal} named=${pill.node && wanted.has(pill.key)} here=${pill === current} open=${pill.more ? opened.has(pill.more.key) : chosen === pill.key} act=${() => act(pill)} keys=${keys} enter=${() => at === pill.key || go(pill.key)} />`)}
    </svg></div>`}
    ${there.length > crossing.length && html`<p class="hint">${t("linesHidden", number(there.length - crossing.length))}</p>`}
    ${node &&
    html`<div class="panel chosen" role="region" aria-label=${t("factsOf", node.entity.name)}>
      <h3>${t("factsOf", node.entity.name)}</h3>
      ${graph && node.entity.id && html`<p><a href=${link("graph", [graph, node.entity.id])}>${t("openInGraph")}</a>
        ${expand && node.depth > 0 && node.depth < DEEPEST - 1 && html` <button type="button" class="quiet" onClick=${() => expand(node.entity)}>${t("expand")}</button>`}</p>`}
      ${node.facts.slice(0, MOST).map(({ triple }) => html`<${FactCard} triple=${triple} graphs=${graphs} />`)}
      ${node.facts.length > MOST && html`<p class="hint">${t("more", number(node.facts.length - MOST))}</p>`}
    </div>`}
  </div>`;
}

const tone = (role) => (SAFETY.includes(role) ? "safety" : "");

function Edge({ edge, outline, hot }) {
  const { from, to } = edge;
  const path = outline
    ? `M${from.x + 9} ${from.y + PILL}V${to.y + 12}H${to.x}`
    : curve(from.x + from.w, from.y + PILL / 2, to.x, to.y + 14);
  return html`<path class=${`edge ${tone(edge.group.role)} ${hot ? "hot" : ""}`} d=${path} />`;
}

function Crossing({ a, b, hot, role }) {
  const [left, right] = a.x <= b.x ? [a, b] : [b, a];
  const level = Math.abs(left.x - right.x) < 8;
  const path = level
    ? `M${left.x + 4} ${left.y + PILL / 2}C${left.x - 16} ${left.y + PILL / 2} ${right.x - 16} ${right.y + PILL / 2} ${right.x + 4} ${right.y + PILL / 2}`
    : curve(left.x + left.w, left.y + PILL / 2, right.x, right.y + PILL / 2);
  return html`<path class=${`edge crossing ${tone(role)} ${hot ? "hot" : ""}`} d=${path} />`;
}

const curve = (x, y, X, Y) => `M${x} ${y}C${(x + X) / 2} ${y} ${(x + X) / 2} ${Y} ${X} ${Y}`;

function Panel({ panel: { group, x, y, w, h }, all }) {
  const count = all > group.nodes.length ? `${number(group.nodes.length)} / ${number(all)}` : number(group.nodes.length);
  return html`<g class=${`group ${tone(group.role)}`}>
    <rect x=${x} y=${y} width=${Math.max(0, w)} height=${h} rx="8" />
    <text x=${x + PAD} y=${y + 18}>${fit(roleName(group.role, group.back), w - 60)} · ${count}</text>
  </g>`;
}

function Pill({ pill, hot, goal, named, here, open, act, keys, enter }) {
  const { node, more, hidden, x, y, w } = pill;
  const name = more ? (hidden > 0 ? t("more", number(hidden)) : t("fewer")) : node.entity.name;
  const full = more ? `${name}: ${roleName(more.role, more.back)}` : node.group ? `${name}, ${roleName(node.group.role, node.group.back)}: ${node.parent.entity.name}` : name;
  const look = `pill ${more ? "more" : ""} ${goal || (node && node.depth === 0) ? "root" : ""} ${named ? "asked" : ""} ${hot ? "hot" : ""} ${open ? "open" : ""}`;
  return html`<g class=${look} role="button" tabindex=${here ? 0 : -1} data-key=${pill.key} aria-label=${full} aria-expanded=${open ? "true" : "false"} onClick=${act} onKeyDown=${keys} onFocus=${enter}>
    <title>${full}</title>
    <rect x=${x} y=${y} width=${Math.max(0, w)} height=${PILL} rx="6" />
    <text x=${x + 10} y=${y + 21} aria-hidden="true">${fit(name, (w - 20) / (node && (named || node.depth === 0) ? 1.12 : 1))}</text>
  </g>`;
}
