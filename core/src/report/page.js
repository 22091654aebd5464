"use strict";
const $ = (id) => document.getElementById(id);
const filled = (element, values) => {
  element.textContent = element.dataset.words.replace(/\{(\d)\}/g, (_, at) => values[at]);
};

// The pairs that somebody is asked about.
(() => {
  const review = $("review"), stage = $("pair");
  if (!stage) return;
  const pairs = [...$("pairs").content.children], bar = $("answer"), out = $("answers");
  const ids = ({ dataset }) => [dataset.a, dataset.b].map(decodeURIComponent);
  const names = new Map(pairs.map((pair) => [pair, JSON.stringify(ids(pair))]));
  const name = (pair) => names.get(pair);
  // By pair: true, false, or null where it was skipped.
  let answers = new Map(), lost = "";
  const place = "pg_dedup " + review.dataset.key;
  // A browser may refuse to keep anything; another window may have the same page.
  const read = () => {
    try { answers = new Map(JSON.parse(localStorage.getItem(place)) ?? answers); } catch { /* nothing was kept */ }
  };
  read();
  const next = (is_open) => pairs.findIndex((pair) => is_open(name(pair)));
  // Those that were skipped come last.
  let at = next((pair) => !answers.has(pair));
  if (at < 0) at = next((pair) => answers.get(pair) === null);
  if (at < 0) at = pairs.length;

  const decided = () => pairs.filter((pair) => typeof answers.get(name(pair)) === "boolean")
    .map((pair) => [...ids(pair), answers.get(name(pair))]);
  // What is shown in a textarea loses carriage returns.
  const literal = (id) => (/[\\\r]/.test(id) ? "E'" : "'") +
    id.replaceAll("\\", "\\\\").replaceAll("\r", "\\r").replaceAll("'", "''") + "'";
  const cell = (id) => /^$|[",\r\n]/.test(id) ? '"' + id.replaceAll('"', '""') + '"' : id;
  const sql = () => {
    const rows = decided().map(([a, b, same]) => `  (${literal(a)}, ${literal(b)}, ${same})`);
    const table = review.dataset.table;
    return rows.length ? `SET client_encoding = 'UTF8';\nINSERT INTO ${table} (a, b, same) VALUES\n${rows.join(",\n")};\n` : "";
  };
  const csv = () => ["a,b,same", ...decided().map(([a, b, same]) => [cell(a), cell(b), same].join(","))].join("\n") + "\n";
  // To psql a line is a command, whatever quotes are open in it.
  if (!/[\r\n]/.test(review.dataset.table)) out.querySelector("pre").textContent = `\\copy ${review.dataset.table} (a, b, same) FROM 'decisions.csv' (FORMAT csv, HEADER, ENCODING 'UTF8')`;
  for (const [link, text] of [[".sql", sql], [".csv", csv]].map(([end, text]) => [out.querySelector(`[download$="${end}"]`), text])) {
    let url;
    link.href = "#answers";
    link.addEventListener("click", () => {
      URL.revokeObjectURL(url);
      link.href = url = URL.createObjectURL(new Blob([text()], { type: "text/plain" }));
    });
  }
  const write = () => { if (out.open) out.querySelector("textarea").value = sql(); };
  out.addEventListener("toggle", write);

  const buttons = [...bar.querySelectorAll("button")];
  const meaning = { s: true, n: false, k: null };
  const show = () => {
    const pair = pairs[at], done = document.createElement("p");
    done.textContent = stage.dataset.done;
    stage.replaceChildren(pair ?? done);
    for (const button of buttons) {
      const key = button.dataset.key;
      button.disabled = key === "b" ? at === 0 : !pair;
      if (pair && key !== "b") button.setAttribute("aria-pressed", answers.has(name(pair)) && answers.get(name(pair)) === meaning[key]);
    }
    const count = decided().length, skipped = pairs.filter((it) => answers.get(name(it)) === null).length;
    const said = bar.querySelector("span");
    filled(said, [count, skipped, pairs.length - count - skipped]);
    said.append(" ", lost);
    write();
  };
  const press = (key) => {
    if (key === "b") at = Math.max(at - 1, 0);
    else if (at < pairs.length) {
      read();
      answers.set(name(pairs[at]), meaning[key]);
      try { localStorage.setItem(place, JSON.stringify([...answers])); } catch { lost = stage.dataset.lost; }
      at += 1;
    }
    show();
  };
  bar.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button) press(button.dataset.key);
  });
  // A key that is held down is one answer.
  bar.addEventListener("keydown", (event) => { if (event.repeat) event.preventDefault(); });
  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.target.matches?.("input, select, textarea")) return;
    const key = event.key === "Backspace" ? "b" : event.key?.toLowerCase();
    if (buttons.some((button) => button.dataset.key === key && !button.disabled)) press(key);
  });
  bar.hidden = out.hidden = false;
  show();
})();

// The groups.
(() => {
  const list = $("groups"), tools = $("tools");
  if (!list) return;
  const all = [...list.children, ...$("others").content.children];
  const pagers = document.querySelectorAll(".pager");
  const at_a_time = list.children.length;
  let found = all, page = 0, searched;
  const show = () => {
    const pages = Math.max(1, Math.ceil(found.length / at_a_time));
    page = Math.min(Math.max(page, 0), pages - 1);
    list.replaceChildren(...found.slice(page * at_a_time, (page + 1) * at_a_time));
    if (!found.length) {
      const none = list.appendChild(document.createElement("p"));
      none.className = "note";
      none.textContent = list.dataset.none;
    }
    const values = [page + 1, pages, found.length.toLocaleString("en")];
    for (const pager of pagers) {
      const [back, on] = pager.querySelectorAll("button"), span = pager.querySelector("span");
      back.disabled = page === 0;
      on.disabled = page === pages - 1;
      filled(span, values);
    }
  };
  // The ids and the texts of a group: what is only in the row that stays is no part of the others.
  const words = (group) => {
    const copy = group.cloneNode(true);
    copy.querySelectorAll("del, i").forEach((part) => part.remove());
    return Array.from(copy.querySelectorAll(".id, .text"), (part) => part.textContent).join("\n").toLowerCase();
  };
  const choose = () => {
    const wanted = $("search").value.trim().toLowerCase();
    if (wanted) searched ??= new Map(all.map((group) => [group, words(group)]));
    found = wanted ? all.filter((group) => searched.get(group).includes(wanted)) : all.slice();
    if ($("order").value === "least") found.sort((a, b) => a.dataset.least - b.dataset.least);
    page = 0;
    show();
  };
  let timer;
  $("search").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(choose, 150); });
  $("order").addEventListener("change", choose);
  tools.addEventListener("submit", (event) => event.preventDefault());
  for (const pager of pagers) {
    pager.addEventListener("click", ({ target }) => {
      if (!target.dataset.step) return;
      page += Number(target.dataset.step);
      show();
      tools.scrollIntoView();
    });
    pager.hidden = false;
  }
  tools.hidden = false;
  choose();
})();
