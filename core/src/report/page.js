"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const list = $("groups"), tools = $("tools");
  if (!list) return;
  const { words, groups, at_a_time, ends: [ends, nearby, long], characters } = JSON.parse($("data").textContent);
  const say = (name, ...values) => words[name].replace(/\{(\d)\}/g, (_, at) => values[at]);
  const make = (parent, tag, type, text) => {
    const made = parent.appendChild(document.createElement(tag));
    if (type) made.className = type;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  // [size, rest, cut, id, text, rows]; a row is [id, exact, distance, percent, other label, cut, operations, particulars].
  const text = (kept, operations) => {
    let at = 0, made = "";
    for (const it of operations) {
      if (typeof it === "string") made += it;
      else if (it !== true) {
        if (it > 0) made += kept.substr(at, it);
        at += Math.abs(it);
      }
    }
    return made;
  };
  const begin = (parent, kept, id, chip) => {
    const row = make(parent, "div", kept ? "row kept" : "row");
    const meta = make(row, "p", "meta");
    make(meta, "b", "chip", chip);
    meta.append(" ");
    make(meta, "span", "id", id).dir = "auto";
    return [row, meta];
  };
  const paragraph = (row) => {
    const made = make(row, "p", "text");
    made.dir = "auto";
    return made;
  };
  const differing = (parent, kept, operations) => {
    let at = 0, why;
    for (const it of operations) {
      if (it === true) { why = "why"; continue; }
      if (typeof it === "string") {
        make(parent, "ins", why, it);
        why = undefined;
      } else {
        const part = kept.substr(at, Math.abs(it));
        at += part.length;
        if (it < 0) make(parent, "del", why, part);
        else {
          why = undefined;
          const each = part.length > long ? Array.from(part) : [];
          if (each.length > long) {
            const last = each.length - ends;
            let from = each.lastIndexOf(" ", ends - 1) + 1, to = each.indexOf(" ", last);
            if (from <= ends - nearby) from = ends;
            if (to < 0 || to >= last + nearby) to = last;
            parent.append(each.slice(0, from).join(""));
            make(parent, "i", "", say("gap", to - from));
            parent.append(each.slice(to).join(""));
          } else parent.append(part);
        }
      }
    }
  };
  const draw = ([size, rest, cut, id, kept, rows], number) => {
    const article = document.createElement("article");
    const heading = make(article, "h3", "", say("group", number) + " ");
    make(heading, "small", "", say("size", size));
    const [first] = begin(article, true, id, words.stays);
    paragraph(first).textContent = kept;
    if (cut) make(first, "p", "note", say("cut", characters));
    for (const [id, exact, distance, percent, other, cut, operations, particulars] of rows) {
      const [row, meta] = begin(article, false, id, exact ? words.exact : words.near);
      const more = (tag, type, text) => { meta.append(" "); make(meta, tag, type, text); };
      if (distance !== null && !exact) more("span", "", say("bits", distance));
      if (percent !== null && !exact) more("span", "", say("alike", percent));
      if (other) more("b", "chip why", words.label);
      for (const said of particulars) more("b", "chip why", said);
      if (operations.length) differing(paragraph(row), kept, operations);
      else make(row, "p", "note", words.identical);
      if (cut) make(row, "p", "note", say("cut", characters));
    }
    if (rest) make(article, "p", "note", say("rest", rest));
    return article;
  };
  const all = groups.map((_, number) => number);
  const least = groups.map(([, , , , , rows]) => Math.min(...rows.map((row) => row[1] ? 100 : row[3] ?? 100)));
  let found = all, page = 0, searched;
  const pagers = document.querySelectorAll(".pager");
  const show = () => {
    const pages = Math.max(1, Math.ceil(found.length / at_a_time));
    page = Math.min(Math.max(page, 0), pages - 1);
    const part = found.slice(page * at_a_time, (page + 1) * at_a_time);
    list.replaceChildren(...part.map((number) => draw(groups[number], number + 1)));
    if (!part.length) make(list, "p", "note", words.none);
    for (const pager of pagers) {
      const [back, on] = pager.querySelectorAll("button");
      back.disabled = page === 0;
      on.disabled = page === pages - 1;
      pager.querySelector("span").textContent = say("page", page + 1, pages) + " · " + say("found", found.length.toLocaleString("en"));
    }
  };
  const choose = () => {
    const wanted = $("search").value.trim().toLowerCase();
    if (wanted && !searched) {
      searched = groups.map(([, , , id, kept, rows]) =>
        [id, kept, ...rows.flatMap((row) => [row[0], row[6].length ? text(kept, row[6]) : ""])].join("\n").toLowerCase());
    }
    found = wanted ? all.filter((number) => searched[number].includes(wanted)) : all.slice();
    if ($("order").value === "least") found.sort((a, b) => least[a] - least[b] || a - b);
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
