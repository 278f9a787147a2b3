// The images of a message: chosen, pasted or dropped, each with a preview. A request has them as data URLs of chat
// completions; a program shown to the reader has marks in place of their data, and reads their files.

import { el, fill } from "/ui/dom.js";

const TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
// bytes of all images in the chat: in Base64, they fit into the gateway's 32 MB for a request
const MOST_BYTES = 20_000_000;
// no message has these random digits
const MARK = `image-${crypto.getRandomValues(new Uint32Array(2)).join("")}-`;
const held = new Set();
let made = 0;

// a mark, with the image's number
export const MARKED = new RegExp(`${MARK}(\\d+)\\.`);
export const fileOf = (number) => [...held].find((image) => image.number === Number(number)).name;

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
const bytesOf = (images) => images.reduce((sum, { size }) => sum + size, 0);

// a name that no other image has: programs read files by it
function nameOf(file) {
  const names = new Set([...held].map(({ name }) => name));
  const [, stem, end] = /^(.*?)(\.[^.]*)?$/s.exec(file.name);
  let name = file.name;
  for (let count = 2; names.has(name); count += 1) name = `${stem}-${count}${end ?? ""}`;
  return name;
}

function dataUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

// Return why a file is not taken; undefined: it is
function refusal({ name, type, size }) {
  const total = bytesOf([...held]) + size;
  if (!TYPES.includes(type)) return `${name} is ${type || "of an unknown type"}: only PNG, JPEG, WebP and GIF images can be added`;
  if (total > MOST_BYTES) return `${name} was not added: all images together may have ${megabytes(MOST_BYTES)}, with it they have ${megabytes(total)}`;
}

// The images of one message. elements: to show; changed(): called when they change; leave(): moves the focus away
export function messageImages(changed, leave) {
  const images = [];
  const list = el("ul", { class: "images", "aria-live": "polite" });
  const note = el("p", { class: "warn-text", role: "status" });
  const input = el("input", { type: "file", accept: TYPES.join(), multiple: true, hidden: true, onchange: () => { add([...input.files]); input.value = ""; } });
  const button = el("button", { type: "button", class: "quiet add-images", onclick: () => input.click() }, "Add images");

  async function add(files) {
    const problems = [];
    for (const file of files) {
      const problem = refusal(file);
      if (problem) { problems.push(problem); continue; }
      const image = { number: made++, name: nameOf(file), size: file.size, file };
      held.add(image);
      try {
        image.url = await dataUrl(file);
        images.push(image);
      } catch (error) {
        held.delete(image);
        problems.push(`${file.name} cannot be read: ${error.message}`);
      }
    }
    show(problems.join("\n"));
  }

  function show(problem = "") {
    fill(list, ...images.map(preview));
    note.textContent = problem;
    changed();
  }

  // a program reads the file by its name, so that a pasted image can be saved
  function preview(image) {
    const { name, size, url } = image;
    const save = el("a", { href: url, download: name, title: `Save ${name}` }, el("img", { src: url, alt: `${name}, ${Math.ceil(size / 1000)} KB` }));
    return el("li", {}, save, el("button", { type: "button", class: "quiet", "aria-label": `Remove ${name}`, onclick: () => drop(image) }, "Remove"));
  }

  function drop(image) {
    const at = images.indexOf(image);
    images.splice(at, 1);
    held.delete(image);
    show();
    const buttons = list.querySelectorAll("button");
    if (buttons.length) buttons[Math.min(at, buttons.length - 1)].focus();
    else leave();
  }

  return {
    elements: [list, note, input], list, button, add,
    clear() { for (const image of images) held.delete(image); },
    // a message's content; isShown: with marks in place of data
    content(text, isShown) {
      if (!images.length) return text;
      const urlOf = ({ url, number }) => (isShown ? `${url.slice(0, url.indexOf(",") + 1)}${MARK}${number}.` : url);
      const parts = images.map((image) => ({ type: "image_url", image_url: { url: urlOf(image) } }));
      return text ? [...parts, { type: "text", text }] : parts;
    },
  };
}

// Give the images of a paste or a drop to a message; text that is pasted with its picture stays text
export function takeImages(event, transfer, message) {
  if (!transfer?.files.length || (event.type === "paste" && transfer.types.includes("text/plain"))) return;
  event.preventDefault();
  message().add([...transfer.files]);
}
