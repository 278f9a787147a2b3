// Requests to this gateway. Keys are kept in sessionStorage, and sent in a header only.

const CLIENT = "switchyard.client-key";
const OPERATOR = "switchyard.operator-key";

export class ApiError extends Error {
  // status 0: no answer
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

async function ask(path, options) {
  try {
    return await fetch(path, { credentials: "omit", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { message: "The gateway does not answer. It may have stopped, or the network is down." });
  }
}

async function failure(answer) {
  let error = null;
  try { error = (await answer.json()).error; } catch { /* not JSON: the status says enough */ }
  return new ApiError(answer.status, error);
}

async function json(answer) {
  const text = await answer.text();
  try { return JSON.parse(text); } catch { throw new ApiError(answer.status, { message: "The answer is not JSON. A proxy may have sent it." }); }
}

// any: whether answers of every status are read, if they are JSON
export async function get(path, { operator = false, text = false, any = false } = {}) {
  const answer = await ask(path, { headers: headers(operator ? keys.operator : keys.client), cache: "no-store" });
  if (!answer.ok && !any) {
    const error = await failure(answer);
    if (error.status === 401 && !operator) keyNeeded();
    throw error;
  }
  return text ? answer.text() : json(answer);
}

export async function post(path, body, signal) {
  return json(await send(path, body, signal));
}

export async function send(path, body, signal) {
  const answer = await ask(path, {
    method: "POST", body: JSON.stringify(body), signal,
    headers: { "content-type": "application/json", ...headers(keys.client) },
  });
  if (answer.ok) return answer;
  const error = await failure(answer);
  if (error.status === 401) keyNeeded();
  throw error;
}

// main shows where to enter a key
function keyNeeded() { document.dispatchEvent(new CustomEvent("key-needed")); }
