"use strict";
// Lists the services that GET / describes, and calls their methods. All text is set as text, none as HTML.
const make = (tag, props = {}, ...parts) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...parts);
  return e;
};
const doc = text => text ? [make("p", { className: "doc" }, text)] : [];

async function call(path, body, out) {
  out.textContent = "…";
  const start = performance.now();
  try {
    const reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body });
    let text = await reply.text();
    try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* shown as it is: numbers may be too large for JSON.parse anyway */ }
    out.textContent = `${reply.status} ${reply.statusText} · ${Math.round(performance.now() - start)} ms\n${text}`;
  } catch (err) {
    out.textContent = String(err);
  }
}

function method(service, m) {
  const input = make("textarea", { rows: 6, spellcheck: false, value: JSON.stringify(m.arguments ?? {}, null, 2) });
  const out = make("pre", { hidden: true });
  const button = make("button", { type: "button" }, "Call");
  button.onclick = () => { out.hidden = false; call(`/${service}/${m.name}`, input.value, out); };
  input.onkeydown = e => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) button.click(); };
  input.setAttribute("aria-label", "Arguments as JSON");
  const e = make("details", {},
    make("summary", {}, make("b", {}, m.name), make("span", { className: "routes" }, m.routes.join("   "))),
    ...doc(m.doc), input, make("div", {}, button, " Ctrl+Enter"), out);
  e.dataset.name = `${service}.${m.name}`.toLowerCase();
  return e;
}

async function load() {
  const main = document.getElementById("services");
  const { services } = await (await fetch("/", { headers: { Accept: "application/json" } })).json();
  main.replaceChildren(...services.map(s =>
    make("section", {}, make("h2", {}, s.name), ...doc(s.doc), ...s.methods.map(m => method(s.name, m)))));
}

document.getElementById("filter").oninput = e => {
  for (const d of document.querySelectorAll("details")) d.hidden = !d.dataset.name.includes(e.target.value.toLowerCase());
};
load().catch(err => { document.getElementById("services").textContent = String(err); });
