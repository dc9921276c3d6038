// The server, as the page asks it: JSON, problems, a key where one is wanted, and events while a question is answered.

import { t } from "./words.js";

/** What the server says went wrong (problem+json), in one line for people. */
export class Problem extends Error {
  constructor(status, title, detail, extra = {}) {
    super(detail || title);
    this.status = status;
    this.title = title;
    this.extra = extra;
  }
}

const KEY = "kgmed-key";
let wantKey = () => {};

/** Tells who asks for the key when the server wants one. */
export const onKeyWanted = (ask) => (wantKey = ask);

export function setKey(key) {
  try {
    sessionStorage.setItem(KEY, key);
  } catch {
    memoryKey = key;
  }
}
let memoryKey = "";

function headers(more = {}) {
  let key = memoryKey;
  try {
    key = sessionStorage.getItem(KEY) || key;
  } catch {
    // the key is kept in memory
  }
  return key ? { ...more, authorization: `Bearer ${key}` } : more;
}

async function send(method, path, body, signal, accept = "application/json") {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      credentials: "omit",
      headers: headers({ accept, ...(body === undefined ? {} : { "content-type": body instanceof Blob ? "application/octet-stream" : "application/json" }) }),
      body: body === undefined || body instanceof Blob ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, t("offline"), t("offline"));
  }
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

async function problemOf(answer) {
  let said = {};
  try {
    said = await answer.json();
  } catch {
    // no body, or none that says anything
  }
  if (answer.status === 401) wantKey();
  const wait = Number(answer.headers.get("retry-after")) || 0;
  const detail = answer.status === 503 && wait ? t("busy", wait) : said.detail || said.title || answer.statusText;
  return new Problem(answer.status, said.title || answer.statusText, detail, said);
}

export const get = async (path, signal) => (await send("GET", path, undefined, signal)).json();
export const post = async (path, body, signal) => (await send("POST", path, body, signal)).json();

/** Asks, and calls `on(kind, data)` for each event until the stream ends. */
export async function stream(path, body, on, signal) {
  const answer = await send("POST", path, body, signal, "text/event-stream");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch(broken);
    rest = (rest + (value || "")).replaceAll("\r\n", "\n");
    const blocks = rest.split("\n\n");
    rest = done ? "" : blocks.pop();
    for (const block of blocks) event(block, on);
    if (done) return;
  }
}

function broken(error) {
  throw error.name === "AbortError" ? error : new Problem(0, t("offline"), t("offline"));
}

function event(block, on) {
  let kind = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) kind = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (data.length) on(kind, JSON.parse(data.join("\n")));
}

const id = encodeURIComponent;
const query = (given) => {
  const kept = Object.entries(given).filter(([, v]) => v !== undefined && v !== "" && v !== null);
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
};

// --- What the server can do, one function each.

export const about = (signal) => get("v1/about", signal);
/** Returns when the server answers questions; throws where it is left before. */
export async function untilOpen(signal) {
  while ((await about(signal)).opening) await new Promise((done) => setTimeout(done, 500));
}
export const graphs = (signal) => get("v1/graphs", signal);
export const methods = (signal) => get("v1/methods", signal);
export const complete = (graph, q, more, signal) => get(`v1/graphs/${id(graph)}/complete${query({ q, ...more })}`, signal);
export const similar = (graph, q, given, signal) => get(`v1/graphs/${id(graph)}/entities${query({ q, limit: 5, ...given })}`, signal);
export const entity = (graph, which, given, signal) => get(`v1/graphs/${id(graph)}/entities/${id(which)}${query(given)}`, signal);
export const neighbours = (graph, which, given, signal) =>
  get(`v1/graphs/${id(graph)}/entities/${id(which)}/neighbours${query(given)}`, signal);
export const paths = (graph, body, given, signal) => post(`v1/graphs/${id(graph)}/paths${query(given)}`, body, signal);
export const diagnose = (body, signal) => post("v1/diagnose", body, signal);
export const compare = (body, signal) => post("v1/compare", body, signal);
export const runs = (q, signal) => get(`v1/runs${query({ q })}`, signal);
export const forget = (which) => send("DELETE", `v1/runs/${id(which)}`);
/** A run, named in the language of its question; `plain` = as the graphs have it. */
export const run = (which, signal, plain = false) => get(`v1/runs/${id(which)}${plain ? "" : "?translated=true"}`, signal);
export const available = (signal) => get("v1/available", signal);
export const fetchGraph = (name) => post(`v1/available/${id(name)}`, undefined);
export const upload = (name, file) => post(`v1/upload/${id(name)}${query({ file: file.name })}`, file);
export const buildUpload = (name, body) => post(`v1/upload/${id(name)}/build`, body);
export const described = (signal) => get("openapi.json", signal);
export const reports = (signal) => get("v1/reports", signal);
export const addressOfReport = (which) => `v1/reports/${id(which)}`;
export const report = async (which) => (await send("GET", addressOfReport(which), undefined, undefined, "text/html")).text();
