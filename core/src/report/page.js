"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
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
      span.textContent = span.dataset.words.replace(/\{(\d)\}/g, (_, at) => values[at]);
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
