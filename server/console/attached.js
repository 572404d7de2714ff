// What goes with words: images that are chosen, dropped or pasted before they are sent, and shown afterwards.

import { button, element, visible } from "./page.js";
import { t } from "./words.js";

const MOST = 4;
const KINDS = ["image/png", "image/jpeg", "image/webp"];

// images for the next words: `node` shows them, `take()` returns and forgets them
export class ImageField {
  // `form`: images that are dropped or pasted there are taken, too
  constructor(form) {
    this.images = [];
    this.list = element("ul", { className: "attached small", ariaLive: "polite" });
    this.choose = element("input", { type: "file", multiple: true, accept: KINDS.join(",") });
    this.node = element("div", { className: "images" }, element("label", { className: "button" }, t("Attach images"), this.choose), this.list);
    this.choose.onchange = async () => {
      await this.add(this.choose.files);
      this.choose.value = "";
    };
    form.addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
    form.addEventListener("drop", (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      this.add(event.dataTransfer.files);
    });
    form.addEventListener("paste", (event) => {
      const files = [...event.clipboardData.files].filter((one) => KINDS.includes(one.type));
      if (!files.length) return;
      event.preventDefault();
      this.add(files);
    });
  }

  async add(files) {
    let refused = "";
    for (const file of files) {
      if (!KINDS.includes(file.type)) refused = `${visible(file.name)}: ${t("no PNG, JPEG or WebP")}`;
      else if (this.images.length === MOST) refused = t("Four images at most");
      else this.images.push({ name: file.name, url: await dataUrl(file) });
    }
    this.show(refused);
  }

  show(refused = "") {
    const lines = this.images.map((one) => element("li", {}, visible(one.name), " ", button("×", () => this.remove(one), { ariaLabel: `${t("Remove")}: ${visible(one.name)}` })));
    if (refused) lines.push(element("li", { className: "error", role: "alert" }, refused));
    this.list.replaceChildren(...lines);
  }

  remove(image) {
    this.images = this.images.filter((one) => one !== image);
    this.show();
  }

  get any() {
    return this.images.length > 0;
  }

  // as a request has them
  given() {
    return this.any ? { attachments: this.images.map((one) => ({ image: one.url })) } : {};
  }

  clear() {
    this.images = [];
    this.show();
  }
}

const dataUrl = (file) =>
  new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });

// what has gone with words: images as they are, documents by name
export function attachedTo(attachments, place) {
  return (attachments ?? []).map((one) => {
    const name = visible(one.name);
    if (!one.media_type) return element("p", { className: "small" }, `📎 ${name}`);
    const parts = new URLSearchParams({ conversation_id: place.conversation, ...(place.user && { user_id: place.user }) });
    const image = element("img", { className: "sent", src: `/api/crew/documents/${one.collection}/${encodeURIComponent(one.name)}/content?${parts}`, alt: name, loading: "lazy" });
    image.onerror = () => image.replaceWith(element("p", { className: "small" }, `${name}: ${t("This is not there.")}`));
    return image;
  });
}
