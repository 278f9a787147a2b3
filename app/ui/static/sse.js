// Server-sent events of a response's body, as they arrive.

function broken(error) {
  if (error.name === "AbortError") throw error;
  throw new Error("The connection broke before the end of the answer.");
}

export async function* events(body, onText) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(broken);
      if (done) return;
      onText(value);
      rest += value;
      let end;
      while ((end = rest.indexOf("\n\n")) >= 0) {
        const data = rest.slice(0, end).split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
        rest = rest.slice(end + 2);
        if (data.length) yield data.join("\n");
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
