// A graph to walk in: zoomed, moved, searched, grown by a click. Cytoscape.js draws it and is fetched with the first one.

import * as api from "./api.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { factsOf, keyOf, link, saveAs, Trouble, useId, Wait } from "./parts.js";
import { currentLanguage, number, roleName, SAFETY, t } from "./words.js";

const GROWN = 24; // facts that a click adds
const MOST = 400; // things drawn; more cannot be read

const ofTheme = (name) => {
  const probe = document.createElement("span");
  probe.className = `probe-${name}`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
};

/** How things and facts are drawn, in the colours of the page. */
const style = () => [
  { selector: "node", style: { label: "data(label)", color: ofTheme("ink"), "background-color": ofTheme("soft"), "font-size": 15, width: 16, height: 16, "text-wrap": "wrap", "text-max-width": 150, "text-valign": "bottom", "text-margin-y": 3, "text-background-color": ofTheme("card"), "text-background-opacity": 0.85, "min-zoomed-font-size": 7 } },
  { selector: "node.start", style: { "background-color": ofTheme("accent"), width: 26, height: 26, "font-weight": "bold", "z-index": 9 } },
  { selector: "node.grown", style: { "border-width": 3, "border-color": ofTheme("accent") } },
  { selector: "node.found, node:selected", style: { "background-color": ofTheme("mark"), "border-width": 3, "border-color": ofTheme("ink") } },
  { selector: "edge", style: { width: 1.5, "line-color": ofTheme("soft"), "target-arrow-color": ofTheme("soft"), "target-arrow-shape": "triangle", "curve-style": "bezier", opacity: 0.7, label: "data(label)", "font-size": 8, color: ofTheme("soft"), "text-rotation": "autorotate", "min-zoomed-font-size": 9 } },
  { selector: "edge.safety", style: { "line-color": ofTheme("danger"), "target-arrow-color": ofTheme("danger"), color: ofTheme("danger") } },
];

/** The elements of some facts that a drawing has not yet. */
function elements(facts, has) {
  const made = new Map();
  for (const { triple } of facts) {
    const [from, to] = [keyOf(triple.head), keyOf(triple.tail, triple.head)];
    [[from, triple.head], [to, triple.tail]].forEach(([key, entity]) => has(key) || made.set(key, { group: "nodes", data: { id: key, label: entity.name, entity } }));
    const key = JSON.stringify([from, triple.relation.name, to]);
    if (!has(key)) made.set(key, { group: "edges", data: { id: key, source: from, target: to, label: roleName(triple.relation.role) }, classes: SAFETY.includes(triple.relation.role) ? "safety" : "" });
  }
  return [...made.values()].sort((a, b) => Number(a.group === "edges") - Number(b.group === "edges"));
}

/** The drawing as an SVG image: what is drawn, where it is drawn, in the colours of the page. */
function asSvg(cy) {
  const xml = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const box = cy.elements().boundingBox();
  const n = (value) => Math.round(value * 10) / 10;
  const edges = cy.edges().map((edge) => {
    const [from, to, mid, bend] = [edge.sourceEndpoint(), edge.targetEndpoint(), edge.midpoint(), (edge.controlPoints() || [])[0]];
    const colour = edge.style("line-color");
    const way = bend ? `Q${n(bend.x)} ${n(bend.y)} ${n(to.x)} ${n(to.y)}` : `L${n(to.x)} ${n(to.y)}`;
    const label = `<text x="${n(mid.x)}" y="${n(mid.y)}" font-size="8" text-anchor="middle" fill="${colour}">${xml(edge.data("label"))}</text>`;
    return `<path d="M${n(from.x)} ${n(from.y)}${way}" fill="none" stroke="${colour}" stroke-width="1.5" opacity="0.7" marker-end="url(#to)"/>${label}`;
  });
  const nodes = cy.nodes().map((node) => {
    const { x, y } = node.position();
    const radius = node.width() / 2;
    const ring = `stroke="${node.style("border-color")}" stroke-width="${parseFloat(node.style("border-width"))}"`;
    return `<g><title>${xml(node.data("entity").id)}</title><circle cx="${n(x)}" cy="${n(y)}" r="${n(radius)}" fill="${node.style("background-color")}" ${ring}/><text x="${n(x)}" y="${n(y + radius + 17)}" font-size="15" text-anchor="middle" fill="${node.style("color")}">${xml(node.data("label"))}</text></g>`;
  });
  const [left, top, wide, high] = [box.x1 - 90, box.y1 - 20, box.w + 180, box.h + 40].map(n);
  const arrow = `<marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="context-stroke"/></marker>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${left} ${top} ${wide} ${high}" width="${wide}" height="${high}" font-family="sans-serif"><style>text{paint-order:stroke;stroke:${ofTheme("card")};stroke-width:3px}</style><defs>${arrow}</defs><rect x="${left}" y="${top}" width="${wide}" height="${high}" fill="${ofTheme("card")}"/>${edges.join("")}${nodes.join("")}</svg>\n`;
}

/** The drawing, with a search, and a list of its things for those who do not see or point at it. */
export function Explore({ graph, start, facts }) {
  const place = useRef(null);
  const drawn = useRef(null);
  const [trouble, setTrouble] = useState(null);
  const [things, list] = useState([]);
  const [sought, seek] = useState("");
  const [chosen, choose] = useState("");
  const id = useId("explore");

  /** Stretches what was arranged to the shape of its place, so that names have room. */
  const widen = () => {
    const { w, h } = drawn.current.nodes().boundingBox({ includeLabels: false });
    const by = (place.current.clientWidth / place.current.clientHeight) * (h / Math.max(w, 1));
    if (by > 1) drawn.current.nodes().positions((node) => ({ x: node.position("x") * by, y: node.position("y") }));
    drawn.current.fit(undefined, 20);
    drawn.current.nodes().style("font-size", Math.min(24, Math.max(11, 11 / drawn.current.zoom())));
  };
  const arrange = () => drawn.current.layout({ name: "cose", animate: !matchMedia("(prefers-reduced-motion: reduce)").matches, randomize: false, nodeDimensionsIncludeLabels: true, idealEdgeLength: () => 50, nodeRepulsion: () => 6000, stop: widen }).run();
  const add = (more) => {
    const cy = drawn.current;
    cy.add(elements(more, (key) => cy.getElementById(key).length > 0));
    list(cy.nodes().map((node) => ({ key: node.id(), name: node.data("entity").name, entity: node.data("entity") })).sort((a, b) => a.name.localeCompare(b.name)));
    arrange();
  };
  const grow = (key) => {
    const node = drawn.current.getElementById(key);
    const { entity } = node.data();
    choose(key);
    if (!entity.id || node.hasClass("grown") || drawn.current.nodes().length >= MOST) return;
    node.addClass("grown");
    api.neighbours(graph, entity.id, { limit: GROWN, language: currentLanguage() }).then(({ triples }) => drawn.current && add(factsOf([{ triples }])), setTrouble);
  };
  useEffect(() => {
    let gone = false;
    import("./vendor/cytoscape.mjs").then(({ default: cytoscape }) => {
      if (gone) return;
      const cy = (drawn.current = cytoscape({ container: place.current, style: style(), minZoom: 0.1, maxZoom: 4 }));
      place.current.cytoscape = cy;
      add(facts);
      cy.getElementById(start.id).addClass("start grown");
      cy.on("tap", "node", (event) => grow(event.target.id()));
    }, setTrouble);
    return () => ((gone = true), drawn.current && drawn.current.destroy(), (drawn.current = null));
  }, []);
  const find = (text) => {
    seek(text);
    const word = text.trim().toLowerCase();
    const cy = drawn.current;
    cy.nodes().removeClass("found");
    const found = word ? cy.nodes().filter((node) => node.data("label").toLowerCase().includes(word)) : cy.collection();
    found.addClass("found");
    if (found.length) cy.animate({ center: { eles: found }, duration: 0 });
  };
  const zoom = (by) => drawn.current.zoom({ level: drawn.current.zoom() * by, renderedPosition: { x: place.current.clientWidth / 2, y: place.current.clientHeight / 2 } });
  const save = () => saveAs("kgmed-graph.png", drawn.current.png({ output: "blob", full: true, scale: 2, bg: ofTheme("card") }), "image/png");
  const at = things.find((thing) => thing.key === chosen);
  const button = (key, onClick, sign) => html`<button type="button" aria-label=${t(key)} title=${t(key)} disabled=${!things.length} onClick=${onClick}>${sign || t(key)}</button>`;
  return html`<div class="explore">
    <div class="explore-acts">
      <input type="text" aria-label=${t("findInDrawing")} placeholder=${t("findInDrawing")} value=${sought} disabled=${!things.length} onInput=${(e) => find(e.target.value)} />
      ${button("zoomIn", () => zoom(1.3), "+")} ${button("zoomOut", () => zoom(1 / 1.3), "−")} ${button("fit", () => drawn.current.fit(undefined, 20))} ${button("savePng", save)} ${button("saveSvg", () => saveAs("kgmed-graph.svg", asSvg(drawn.current), "image/svg+xml"))}
    </div>
    ${!things.length && !trouble && html`<${Wait} />`}
    ${trouble && html`<${Trouble} problem=${trouble} />`}
    <div class="explore-place" ref=${place} role="img" aria-label=${t("drawing", number(things.length))} aria-describedby=${id}></div>
    <p class="hint" id=${id}>${t("exploreHelp")}</p>
    <label class="explore-list">${t("thingsDrawn", number(things.length))}
      <select value=${chosen} onChange=${(e) => grow(e.target.value)}><option value="">…</option>${things.map(({ key, name }) => html`<option value=${key} selected=${key === chosen}>${name}</option>`)}</select>
    </label>
    ${at && at.entity.id && html`<p role="status"><a href=${link("graph", [graph, at.entity.id])}>${t("openInGraph")}: ${at.name}</a></p>`}
  </div>`;
}
