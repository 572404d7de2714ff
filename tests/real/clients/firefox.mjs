// The console in Firefox: a run is started, a person approves its call, each page is opened; what was seen, as JSON.
import puppeteer from "puppeteer-core";

const [url, program, picture] = process.argv.slice(2);
const PAGES = ["/", "/runs", "/inbox", "/crew", "/tools", "/costs", "/automation", "/search", "/revisions", "/audit"];
const browser = await puppeteer.launch({ browser: "firefox", executablePath: program, headless: true });
try {
  const page = await browser.newPage();
  const broken = [];
  page.on("pageerror", (error) => broken.push(String(error)));
  page.on("console", (said) => said.type() === "error" && broken.push(said.text()));
  page.setDefaultTimeout(90_000);
  await page.setViewport({ width: 1280, height: 900 });
  await page.goto(url);
  await page.waitForSelector("#query");
  await page.type("#query", "the site is slow");
  await page.click("#send");
  await page.waitForSelector("[name=approve]");
  const address = page.url();
  await page.click("[name=approve]");
  await page.waitForSelector(".note.done");
  await page.reload();
  await page.waitForSelector(".note.done");
  const seen = await page.evaluate(() => ({
    nodes: document.querySelectorAll(".graph .node.visited").length,
    lanes: document.querySelectorAll(".waterfall .lane").length,
    bars: document.querySelectorAll(".waterfall .bar").length,
    answer: document.querySelector(".note.done").innerText,
    isWide: document.documentElement.scrollWidth > innerWidth,
  }));
  await page.screenshot({ path: picture });
  const titles = {};
  for (const path of PAGES) {
    await page.goto(url + path);
    await page.waitForSelector("h1, h2");
    titles[path] = await page.title();
  }
  console.log(JSON.stringify({ address, seen, titles, broken }));
} finally {
  await browser.close();
}
