// The frame: views, theme, keys.

import { keys } from "/ui/api.js";
import { startChat } from "/ui/chat.js";
import { byId } from "/ui/dom.js";
import { startPlayground } from "/ui/playground.js";
import { startStatus } from "/ui/status.js";
import { tabs } from "/ui/tabs.js";

const THEMES = ["system", "light", "dark"];
const THEME = "switchyard.theme";

function startTheme() {
  const button = byId("theme-button");
  const apply = (theme) => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    button.setAttribute("aria-label", `Theme: ${theme}`);
  };
  let chosen = localStorage.getItem(THEME);
  if (!THEMES.includes(chosen)) chosen = "system";
  apply(chosen);
  button.addEventListener("click", () => {
    chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
    localStorage.setItem(THEME, chosen);
    apply(chosen);
  });
}

function startKeys(onChange) {
  const dialog = byId("keys");
  const client = byId("client-key");
  const operator = byId("operator-key");
  const open = () => {
    if (dialog.open) return;
    [client.value, operator.value] = [keys.client, keys.operator];
    dialog.showModal();
    client.focus();
  };
  const close = () => { [client.value, operator.value] = ["", ""]; };
  byId("keys-button").addEventListener("click", open);
  byId("keys-form").addEventListener("submit", () => {
    keys.keep(client.value.trim(), operator.value.trim());
    byId("notice").hidden = true;
    onChange();
  });
  byId("keys-forget").addEventListener("click", () => {
    keys.keep("", "");
    dialog.close();
    onChange();
  });
  dialog.addEventListener("close", close);
  document.addEventListener("key-needed", () => {
    const notice = byId("notice");
    notice.textContent = keys.client || keys.operator
      ? "The gateway does not accept this key. Open Keys to enter another one."
      : "This gateway needs an API key. Open Keys to enter it.";
    notice.hidden = false;
  });
}

const views = { status: startStatus(), playground: startPlayground(), chat: startChat() };
let current = "status";

const show = tabs(document.querySelector("header [role=tablist]"), (name) => {
  current = name;
  for (const [each, view] of Object.entries(views)) view.show(each === name);
  history.replaceState(null, "", `#${name}`);
});

startTheme();
startKeys(() => views[current].reload());
const wanted = location.hash.slice(1);
show(wanted in views ? wanted : "status");
window.addEventListener("hashchange", () => show(location.hash.slice(1)));
