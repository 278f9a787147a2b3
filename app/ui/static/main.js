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
  const keep = (...values) => {
    keys.keep(...values);
    byId("notice").hidden = true;
    onChange();
  };
  byId("keys-button").addEventListener("click", open);
  byId("notice-keys").addEventListener("click", open);
  byId("keys-form").addEventListener("submit", () => keep(client.value.trim(), operator.value.trim()));
  byId("keys-cancel").addEventListener("click", () => dialog.close());
  byId("keys-forget").addEventListener("click", () => { dialog.close(); keep("", ""); });
  // the fields hold the keys only while they are shown
  dialog.addEventListener("close", () => { [client.value, operator.value] = ["", ""]; });
  document.addEventListener("key-needed", () => {
    byId("notice-text").textContent = keys.client ? "The gateway does not accept the API key." : "This gateway needs an API key.";
    byId("notice").hidden = false;
  });
}

const views = { status: startStatus(), playground: startPlayground(), chat: startChat() };
const wanted = () => { const name = location.hash.slice(1); return Object.hasOwn(views, name) ? name : "status"; };
let current = "status";

const show = tabs(document.querySelector("header [role=tablist]"), (name) => {
  current = name;
  for (const [each, view] of Object.entries(views)) view.show(each === name);
  history.replaceState(null, "", `#${name}`);
});

startTheme();
startKeys(() => views[current].reload());
show(wanted());
window.addEventListener("hashchange", () => show(wanted()));
