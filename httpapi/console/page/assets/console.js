// What scripts add to the pages of the console. Every page works without it.
"use strict";

// What a tab remembers, where the browser allows it.
const store = (key, value) => { try { sessionStorage.setItem(key, value); } catch { /* it forgets */ } };
const stored = (key) => { try { return sessionStorage.getItem(key); } catch { return null; } };

// Times and numbers are shown as the reader's browser writes them. The exact time is in the title.
const localize = (root) => {
  const numbers = new Intl.NumberFormat();
  root.querySelectorAll("data[value]").forEach((data) => {
    data.textContent = numbers.format(data.value);
  });
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  root.querySelectorAll("time[datetime]").forEach((time) => {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.valueOf())) time.textContent = format.format(at);
  });
};

// A short link can be copied, where the browser allows it.
const offerCopies = (root) => {
  if (!navigator.clipboard) return;
  root.querySelectorAll("a[data-copy]").forEach((link) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet copy";
    button.setAttribute("aria-live", "polite");
    const of = document.createElement("span");
    of.className = "hidden";
    of.textContent = ` ${link.textContent}`;
    button.append("Copy", of);
    const say = (text) => { button.firstChild.textContent = text; };
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(link.dataset.copy || link.href);
        say("Copied");
      } catch {
        say("Not allowed");
      }
      setTimeout(() => say("Copy"), 2000);
    });
    link.after(" ", button);
  });
};

// All rows of a table can be ticked at once, and a button tells how many are.
const offerTicks = () => {
  document.querySelectorAll("[data-tick]").forEach((cell) => {
    const form = cell.closest("form");
    const boxes = [...form.elements].filter((box) => box.type === "checkbox" && box.name === cell.dataset.tick);
    const all = document.createElement("input");
    all.type = "checkbox";
    all.setAttribute("aria-label", "Tick all of this page");
    const tell = () => {
      const ticked = boxes.filter((box) => box.checked).length;
      all.checked = ticked === boxes.length;
      all.indeterminate = ticked > 0 && ticked < boxes.length;
      form.querySelectorAll("[data-ticked]").forEach((part) => { part.textContent = ticked ? `(${ticked})` : ""; });
    };
    all.addEventListener("change", () => {
      boxes.forEach((box) => { box.checked = all.checked; });
      tell();
    });
    form.addEventListener("change", tell);
    cell.append(all);
    keepTicks(form, boxes);
    tell();
  });
};

// The ticks of a list come back with its page. They belong to what is ticked: the rows may differ by
// then. After a change they are gone.
const keepTicks = (form, boxes) => {
  const address = new URL(location.href);
  address.searchParams.delete("answer");
  const key = `ticks ${address.pathname}${address.search}`;
  const done = document.querySelector("[data-notice]");
  const kept = done ? [] : JSON.parse(stored(key) || "[]");
  boxes.forEach((box) => { if (kept.includes(box.value)) box.checked = true; });
  const keep = () => store(key, JSON.stringify(boxes.filter((box) => box.checked).map((box) => box.value)));
  form.addEventListener("change", () => setTimeout(keep));
  keep();
};

// What the activity tells so far of the call of a form, or nothing.
const progressOf = async (form) => {
  const request = form.elements.namedItem("request");
  if (!request || !document.querySelector('nav a[href="/console/activity"]')) return ""; // of operators
  try {
    const answer = await fetch(`/console/activity?request=${encodeURIComponent(request.value)}`);
    const activity = new DOMParser().parseFromString(await answer.text(), "text/html");
    const what = activity.querySelector("[data-what]");
    return what ? `: ${what.textContent}` : "";
  } catch {
    return "";
  }
};

// A form that takes long says so, and how far its call is, for as long as its call may take. It is
// not sent again by a second click.
const watchForms = () => {
  let current = null; // what is told of the form that was sent last
  const stop = () => {
    if (current) current.remove();
    current = null;
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    setTimeout(() => { delete form.dataset.sent; }, 10000); // after a stop, the form can be sent again
    stop();
    const working = document.createElement("p");
    working.className = "working";
    const told = document.createElement("span");
    told.setAttribute("role", "status");
    const time = document.createElement("span");
    working.append(told, " ", time);
    current = working;
    const began = Date.now();
    const tell = async () => {
      const seconds = Math.round((Date.now() - began) / 1000);
      const text = `Working${await progressOf(form)}`;
      if (current !== working || seconds > 900) return;
      if (told.textContent !== text) told.textContent = text; // is read aloud
      time.textContent = `${seconds} s`;
      setTimeout(tell, Math.min(15000, 3000 + 50 * seconds));
    };
    setTimeout(() => {
      if (current !== working) return;
      form.append(working);
      tell();
    }, 1000);
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) stop(); });
};

// A field that takes so many characters says how many are too many, and is not cut. Characters are
// counted as the service does.
const countCharacters = () => {
  document.querySelectorAll("[data-most], [data-most-bytes]").forEach((input) => {
    const most = Number(input.dataset.most);
    const bytes = Number(input.dataset.mostBytes);
    const told = document.createElement("small");
    told.setAttribute("role", "status");
    input.after(told);
    const check = () => {
      const over = most ? [...input.value].length - most : new Blob([input.value]).size - bytes;
      let text = "";
      if (over > 0) text = most ? `${over} of ${most + over} characters too many` : "This is too long: send less at once";
      told.textContent = text;
      input.setCustomValidity(text);
    };
    input.addEventListener("input", check);
    check();
  });
};

// After a form the focus is again where it was, and what was done is read aloud.
const goOn = () => {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const button = event.submitter;
    if (form.method !== "post" || !button) return;
    const alike = [...document.querySelectorAll("form")].filter((f) => f.action === form.action);
    store("focus", JSON.stringify({
      at: Date.now(), action: form.getAttribute("action"), form: alike.indexOf(form),
      button: [...form.elements].filter((e) => e.type === "submit").indexOf(button),
    }));
  });
  const notice = document.querySelector("[data-notice]");
  if (!notice && !document.querySelector("main > [role=alert]")) return;
  const was = JSON.parse(stored("focus") || "null");
  store("focus", "null");
  if (was && Date.now() - was.at < 900000) {
    const alike = [...document.querySelectorAll("form")].filter((f) => f.getAttribute("action") === was.action);
    const form = alike[Math.min(was.form, alike.length - 1)];
    const button = form && [...form.elements].filter((e) => e.type === "submit")[was.button];
    if (button && button.checkVisibility()) button.focus({ preventScroll: false });
    else if (notice) {
      notice.tabIndex = -1;
      notice.focus();
    }
  }
  if (notice) { // readers tell what changes in a status, not what it has from the beginning
    const text = notice.textContent;
    notice.textContent = "";
    setTimeout(() => { notice.textContent = text; }, 100);
  }
};

// The part of a page with the id "live" is kept up to date. The server sends it anew whenever it
// has changed, as server-sent events of the same address.
const watchPage = () => {
  const part = document.getElementById("live");
  const bar = document.querySelector("[data-watch]");
  if (!part || !bar) return;
  const button = bar.querySelector("button");
  const status = bar.querySelector("[role=status]");
  let stream = null;
  let paused = false;
  let waiting = null; // what has arrived while someone was in the part

  const busy = () => {
    const selection = document.getSelection();
    return part.contains(document.activeElement) ||
      [...part.querySelectorAll("input")].some((input) => input.value !== input.defaultValue) ||
      (selection && !selection.isCollapsed && part.contains(selection.anchorNode));
  };

  const show = (html) => {
    if (busy()) {
      waiting = html;
      return;
    }
    waiting = null;
    const open = [...part.querySelectorAll("details")].map((d) => d.open);
    const next = new DOMParser().parseFromString(html, "text/html");
    localize(next);
    offerCopies(next);
    part.replaceChildren(...next.body.childNodes);
    part.querySelectorAll("details").forEach((d, i) => { d.open = Boolean(open[i]); });
  };

  const stop = (text) => {
    if (stream) stream.close();
    stream = null;
    clearTimeout(silence);
    status.textContent = text;
  };

  // The service sends something every two seconds. What does not come through is kept back.
  let silence = 0;
  const heard = () => {
    if (status.textContent !== "Live") status.textContent = "Live";
    clearTimeout(silence);
    silence = setTimeout(() => {
      if (!stream) return;
      stop("Not live: nothing arrives. Trying again");
      setTimeout(start, 10000);
    }, 30000);
  };

  const start = () => {
    if (stream || paused || document.hidden) return;
    stream = new EventSource(location.href);
    stream.onopen = heard;
    stream.onmessage = (message) => {
      heard();
      show(message.data);
    };
    stream.addEventListener("beat", heard);
    stream.addEventListener("end", () => {
      stop("No longer live: reload the page");
      paused = true;
      button.hidden = true;
    });
    stream.onerror = () => {
      if (!stream) return;
      status.textContent = "Not live: trying again";
      if (stream.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
      stop(status.textContent);
      setTimeout(start, 10000);
    };
  };

  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Resume updates" : "Pause updates";
    if (paused) stop("Paused");
    else start();
  });
  const catchUp = () => { if (waiting !== null && !paused) show(waiting); };
  part.addEventListener("focusout", () => setTimeout(catchUp));
  document.addEventListener("selectionchange", catchUp);
  // A hidden tab costs nothing.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop("");
    else start();
  });
  bar.hidden = false;
  start();
};

// A page that lacks what was saved last is opened again, unless a field was changed.
const awaitLate = () => {
  if (!document.querySelector("[data-late]")) return;
  const typed = () => [...document.querySelectorAll("input, textarea")].some(
    (field) => field.type !== "hidden" && (field.value !== field.defaultValue || field.checked !== field.defaultChecked));
  const again = () => {
    if (document.hidden || typed()) setTimeout(again, 3000);
    else location.reload();
  };
  setTimeout(again, 3000);
};

localize(document);
offerCopies(document);
offerTicks();
countCharacters();
goOn();
watchForms();
watchPage();
awaitLate();
