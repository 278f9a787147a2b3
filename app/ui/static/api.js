// Requests to this gateway. Keys are kept in sessionStorage, and sent in a header only.

const CLIENT = "switchyard.client-key";
const OPERATOR = "switchyard.operator-key";

export class ApiError extends Error {
  constructor(status, error) {
    super(error?.message ?? `The gateway answered with status ${status}.`);
    this.status = status;
    this.param = error?.param ?? null;
    this.code = error?.code ?? null;
  }
}

export const keys = {
  get client() { return sessionStorage.getItem(CLIENT) ?? ""; },
  get operator() { return sessionStorage.getItem(OPERATOR) ?? ""; },
  keep(client, operator) {
    for (const [name, value] of [[CLIENT, client], [OPERATOR, operator]]) {
      if (value) sessionStorage.setItem(name, value);
      else sessionStorage.removeItem(name);
    }
  },
};

function headers(key) {
  // a header has no other characters than these; fetch would throw
  const sent = key.replace(/[^\x20-\x7e]/g, "");
  return sent ? { authorization: `Bearer ${sent}` } : {};
}

async function failure(answer) {
  let error = null;
  try { error = (await answer.json()).error; } catch { /* not JSON: the status says enough */ }
  const made = new ApiError(answer.status, error);
  if (answer.status === 401) document.dispatchEvent(new CustomEvent("key-needed"));
  return made;
}

export async function get(path, { operator = false, text = false, any = false } = {}) {
  const answer = await fetch(path, {
    headers: headers(operator ? keys.operator : keys.client), cache: "no-store", credentials: "omit",
  });
  if (!answer.ok && !any) throw await failure(answer);
  return text ? answer.text() : answer.json();
}

export async function post(path, body, signal) {
  const answer = await send(path, body, signal);
  return answer.json();
}

export async function send(path, body, signal) {
  const answer = await fetch(path, {
    method: "POST", body: JSON.stringify(body), signal, credentials: "omit",
    headers: { "content-type": "application/json", ...headers(keys.client) },
  });
  if (!answer.ok) throw await failure(answer);
  return answer;
}
