// Closes the account menu, searches while a name is typed, keeps the live region of a page up to date and shows what
// changed there. Without it, menu and search work by their buttons, and a page stays as it was loaded.
(() => {
  "use strict";
  const account = document.querySelector(".account");
  const closeMenu = (focus) => {
    if (!account?.open) return;
    account.open = false;
    if (focus) account.firstElementChild.focus();
  };
  document.addEventListener("click", ({ target }) => { if (!account?.contains(target)) closeMenu(false); });
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape") closeMenu(true); });

  const region = () => document.getElementById("live");
  if (!region()) return;
  let source = null;

  // What changed since the last refresh. Times change by themselves, and that is no news.
  const changed = new Set();
  const note = (element) => { if (element && !element.closest("time")) changed.add(element); };

  // Morphs one element into another, changing only what differs: focus, selection and scroll position stay.
  const morph = (from, to) => {
    // What the visitor has folded or unfolded stays so.
    for (const { name } of [...from.attributes]) {
      if (name !== "open" && !to.hasAttribute(name)) from.removeAttribute(name);
    }
    for (const { name, value } of [...to.attributes]) {
      if (name !== "open" && from.getAttribute(name) !== value) from.setAttribute(name, value);
    }
    const kept = new Set([...to.children].map((child) => child.id));
    for (const child of [...from.children]) if (child.id && !kept.has(child.id)) child.remove();
    let at = from.firstChild;
    for (const next of [...to.childNodes]) {
      const same = next.id
        ? [...from.children].find((child) => child.id === next.id)
        : at && !at.id && at.nodeName === next.nodeName ? at : null;
      if (!same) {
        from.insertBefore(next, at);
        if (next.nodeType === Node.ELEMENT_NODE) note(next);
        continue;
      }
      if (same === at) at = at.nextSibling; else from.insertBefore(same, at);
      if (same.nodeType === Node.ELEMENT_NODE) morph(same, next);
      else if (same.nodeValue !== next.nodeValue) {
        if (same.nodeValue.trim() !== next.nodeValue.trim()) note(same.parentElement);
        same.nodeValue = next.nodeValue;
      }
    }
    while (at) { const rest = at; at = at.nextSibling; rest.remove(); }
  };

  const refresh = async (highlights) => {
    changed.clear();
    const asked = location.href;
    const answer = await fetch(asked, { redirect: "manual", cache: "no-store" }).catch(() => null);
    // Retry later if the server is unreachable or overloaded; until then the page stays as it is.
    if (!answer || answer.status >= 500 || answer.status === 429) { setTimeout(look, 5000); return; }
    // Signed out or not found: load the server's page for it.
    if (!answer.ok) { location.reload(); return; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    // The address changes while a name is typed: a later refresh has the newer list.
    if (asked !== location.href) return;
    const now = page.getElementById("live");
    if (!now) { location.reload(); return; }
    morph(region(), now);
    // Forms stay as they are. Only marked elements beside their fields are updated.
    for (const beside of document.querySelectorAll("[data-live]")) {
      const next = page.getElementById(beside.id);
      if (!next) continue;
      morph(beside, next);
      const { previousElementSibling: was, nextElementSibling: remark } = beside;
      if ("now" in beside.dataset) remark.hidden = beside.dataset.now === was.value;
    }
    if (!highlights) return;
    for (const element of changed) {
      element.classList.add("changed");
      element.addEventListener("animationend", () => element.classList.remove("changed"), { once: true });
    }
  };

  // The server searches, so that there is one rule for what matches.
  const search = document.querySelector(".search");
  let typing = 0;
  search?.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      history.replaceState(null, "", `?${new URLSearchParams(new FormData(search))}`);
      refresh(false);
    }, 100);
  });

  const liveness = document.getElementById("liveness");
  const show = (state) => {
    liveness.hidden = !state;
    liveness.dataset.state = state;
    liveness.textContent = state === "live" ? "Live" : "Reconnecting";
  };

  const listen = () => {
    const page = new URLSearchParams({ page: location.pathname, seen: region().dataset.seen });
    source = new EventSource(`/live?${page}`);
    source.addEventListener("open", () => show("live"));
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) { show("waiting"); return; }
      // Refused: there are too many streams, or the page is gone, which loading it tells.
      show("");
      refresh(true);
    });
    source.addEventListener("change", () => refresh(true));
    source.addEventListener("ended", () => { source.close(); location.reload(); });
  };
  // Hidden pages need no stream, and browsers limit the connections to a site.
  const look = () => {
    source?.close();
    source = null;
    if (!document.hidden && window.EventSource) listen();
  };
  document.addEventListener("visibilitychange", look);
  // A submitted form navigates away, so the stream is closed first.
  document.addEventListener("submit", () => source?.close());
  window.addEventListener("pagehide", () => source?.close());
  window.addEventListener("pageshow", (event) => { if (event.persisted) look(); });
  look();
})();
