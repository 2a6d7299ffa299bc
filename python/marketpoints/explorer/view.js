// The explorer's page: zooms and drags at once by moving the last picture, and asks for a sharp one.
// Times are Unix milliseconds in UTC. It loads nothing: what it shows comes by the model's messages.

const AXIS = { right: 76, bottom: 24 }; // room for prices and times, CSS pixels
const HEIGHT = 480;
const NONE = 0, EMPTY = 1; // bytes of pixels without a snapshot, and without a level
const CANDLE = 4; // least pixels of a candle
const DENSE = 2; // pixels from value to value below which a line is drawn as bars
const BUBBLE = 26; // radius of the largest bubble
const MOST_PIXELS = 4e6;
const WAIT = 250; // ms after which a newer view is asked for although an answer is still out
const SILENT = 6000; // ms after which the page says that nobody answers
const MINUTE = 6e4, HOUR = 36e5, DAY = 864e5;
const STEPS = [1, 5, 10, 30, 60, 300, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 1209600]
  .map((seconds) => seconds * 1000);
const SIDES = { both: "both sides", two: "bids | asks", bids: "bids", asks: "asks" };
const SCALES = ["quantile", "log", "linear"];

const STYLE = `
.mp-x{position:relative;width:100%;font:12px/1.35 system-ui,sans-serif;outline:none;user-select:none;box-sizing:border-box;
  border:1px solid #8884;border-radius:6px;overflow:hidden;display:flex;flex-direction:column}
.mp-x:focus-visible{border-color:#4c8dff}
.mp-x *{box-sizing:border-box}
.mp-bar{display:flex;gap:6px;align-items:center;padding:5px 8px;flex-wrap:wrap;border-bottom:1px solid #8883}
.mp-bar b{font-weight:600;margin-right:auto;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;min-width:0}
.mp-x button{font:inherit;color:inherit;background:#8882;border:1px solid #8885;border-radius:4px;padding:1px 8px;cursor:pointer}
.mp-x button:hover{background:#8884}
.mp-x button:focus-visible{outline:2px solid #4c8dff}
.mp-x button.mp-buy{background:#2a6fdb;color:#fff;border-color:#2a6fdb}
.mp-key{height:28px;width:220px}
.mp-plot{position:relative;flex:1;min-height:0;touch-action:none;cursor:crosshair}
.mp-plot canvas{position:absolute;inset:0;width:100%;height:100%;display:block}
.mp-over{pointer-events:none}
.mp-note{position:absolute;left:8px;bottom:32px;display:flex;gap:8px;align-items:center;max-width:calc(100% - 100px)}
.mp-note span{background:var(--mp-veil);padding:2px 8px;border-radius:4px}
.mp-note span:empty{display:none}`;

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

function short(value) {
  const size = Math.abs(value);
  for (const [unit, text] of [[1e9, "B"], [1e6, "M"], [1e4, "k"]]) {
    if (size >= 0.9995 * unit) return `${(value / (unit === 1e4 ? 1e3 : unit)).toPrecision(3)}${text}`;
  }
  return size === 0 ? "0" : String(+value.toPrecision(3));
}

function price(value, step) {
  const digits = clamp(Math.ceil(-Math.log10(step || 1) - 1e-9), 0, 12);
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const two = (number) => String(number).padStart(2, "0");

function moment(ms, step) {
  const at = new Date(ms);
  const day = `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
  if (step >= DAY) return day;
  const time = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
  return step >= MINUTE ? `${day} ${time}` : `${day} ${time}:${two(at.getUTCSeconds())}`;
}

function niceStep(span, most) {
  const raw = span / Math.max(1, most), power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= raw * (1 - 1e-9));
}

const dayOf = (ms) => new Date(ms).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

// Ticks of time with their texts; midnights have the day, the others the time.
function timeTicks(t0, t1, most) {
  const step = STEPS.find((each) => (t1 - t0) / each <= most);
  const found = [];
  if (step) {
    for (let at = Math.ceil(t0 / step) * step; at <= t1; at += step) {
      const when = new Date(at), midnight = at % DAY === 0;
      const seconds = step < MINUTE ? `:${two(when.getUTCSeconds())}` : "";
      const text = midnight
        ? dayOf(at)
        : `${two(when.getUTCHours())}:${two(when.getUTCMinutes())}${seconds}`;
      found.push([at, text, midnight]);
    }
    return found;
  }
  const months = [1, 2, 3, 6, 12, 24, 60, 120].find((each) => (t1 - t0) / (each * 30.4 * DAY) <= most) || 1200;
  const from = new Date(t0);
  let month = Math.ceil((from.getUTCFullYear() * 12 + from.getUTCMonth()) / months) * months;
  for (;; month += months) {
    const year = Math.floor(month / 12), at = new Date(0);
    at.setUTCFullYear(year, month - year * 12, 1);
    if (at.getTime() > t1) return found;
    const text = month % 12 ? at.toLocaleDateString("en-GB", { month: "short", timeZone: "UTC" }) : String(year);
    if (at.getTime() >= t0) found.push([at.getTime(), text, month % 12 === 0]);
  }
}

function doubles(buffer, count) {
  const bytes = new Uint8Array(buffer.buffer || buffer, buffer.byteOffset || 0, count * 8);
  return new Float64Array(bytes.slice().buffer);
}

const bytesOf = (buffer) => new Uint8Array(buffer.buffer || buffer, buffer.byteOffset || 0, buffer.byteLength);

function element(tag, name, parent, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function render({ model, el, signal }) {
  const about = model.get("about");
  const [home0, home1, home2, home3] = about.home;
  const home = { t0: home0, t1: home1, p0: home2, p1: home3 };
  const dark = window.matchMedia && matchMedia("(prefers-color-scheme: dark)").matches;
  const state = {
    view: { ...home }, side: "both", scale: "quantile", theme: about.levels || dark ? "dark" : "light",
    loaded: about.loaded, back: [], picture: null, over: null, profile: null, beside: true, mouse: null, box: null,
    id: 0, shown: 0, out: 0, dirty: false, since: new Map(),
  };

  const root = element("div", "mp-x", el);
  root.tabIndex = 0;
  root.style.height = `${HEIGHT}px`;
  element("style", "", root, STYLE);
  const bar = element("div", "mp-bar", root);
  element("b", "", bar, about.title).title = about.title;
  const key = about.levels ? element("canvas", "mp-key", bar) : null;
  if (key) key.title = `volume${about.unit ? ` in ${about.unit}` : ""}`;
  const button = (text, title, act) => {
    const made = element("button", "", bar, text);
    made.type = "button";
    made.title = title;
    made.addEventListener("click", act);
    return made;
  };
  const sideButton = about.sides ? button(SIDES.both, "which sides (b)", () => cycle("side")) : null;
  const scaleButton = about.levels ? button("quantile", "scale of colours (s)", () => cycle("scale")) : null;
  const themeButton = button(state.theme, "dark or light (d)", () => cycle("theme"));
  if (about.profile) button("profile", "volume by price (p)", beside);
  button("home", "back to the beginning (0)", () => go(home));
  button("full", "full screen (f)", fullscreen);
  const plot = element("div", "mp-plot", root);
  const base = element("canvas", "", plot), top = element("canvas", "mp-over", plot);
  base.setAttribute("role", "img");
  base.setAttribute("aria-label", about.title);
  const noteBox = element("div", "mp-note", plot);
  const noteText = element("span", "", noteBox), buy = element("button", "mp-buy", noteBox);
  buy.type = "button";
  buy.hidden = true;
  noteBox.setAttribute("role", "status");
  noteText.textContent = about.empty;

  const size = () => ({ w: Math.max(40, plot.clientWidth - AXIS.right), h: Math.max(40, plot.clientHeight - AXIS.bottom) });
  const colours = () => about.themes[state.theme];
  const dpr = () => window.devicePixelRatio || 1;
  const xOf = (t) => ((t - state.view.t0) / (state.view.t1 - state.view.t0)) * size().w;
  const yOf = (p) => (1 - (p - state.view.p0) / (state.view.p1 - state.view.p0)) * size().h;

  // --- asking
  function ask() {
    if (!plot.clientWidth) return;
    if (state.out && performance.now() - state.out < WAIT) {
      state.dirty = true;
      root.dataset.asked = "soon";
      return;
    }
    state.dirty = false;
    state.out = performance.now();
    const { w, h } = size(), fine = Math.min(dpr(), Math.sqrt(MOST_PIXELS / (w * h)));
    state.id += 1;
    state.since.set(state.id, state.moved || state.out);
    state.moved = 0;
    root.dataset.asked = state.id;
    const { side, scale, theme, view } = state;
    model.send({ kind: "view", id: state.id, ...view, w: Math.round(w * fine), h: Math.round(h * fine), dpr: fine, side, scale, theme });
    clearTimeout(state.again);
    state.again = setTimeout(() => state.dirty && ask(), WAIT + 10);
    clearTimeout(state.silent);
    state.silent = setTimeout(() => {
      state.out = 0;
      say("nothing answers: run the cell again to explore");
    }, SILENT);
  }

  function heard(content, buffers) {
    if (content.kind === "view" || content.kind === "over" || content.kind === "error") {
      clearTimeout(state.silent);
      if (state.quiet) say("");
    }
    if (content.kind === "view" && content.id >= state.shown) {
      state.shown = content.id;
      state.picture = paint(content, bytesOf(buffers[0]), bytesOf(buffers[1]), new Float32Array(bytesOf(buffers[2]).slice().buffer));
      drawKey();
      draw();
      answered(content.id);
    } else if (content.kind === "over") {
      const over = { ...content };
      content.lists.forEach(([name, count], index) => {
        const [what, column] = name.split(".");
        (over[what] ||= {})[column] = doubles(buffers[index], count);
      });
      if (over.profile) state.profile = over;
      if (!over.profile || content.all) state.over = over;
      if (content.last) root.dataset.shown = content.id;
      draw();
      if (!about.levels) answered(content.id);
    } else if (content.kind === "error") {
      say(content.text);
      answered(content.id);
    } else if (content.kind === "note") say(content.text, content.busy);
    else if (content.kind === "offer") {
      buy.hidden = !content.offer;
      buy.textContent = content.offer ? content.text : "";
      buy.disabled = false;
      buy.onclick = () => {
        buy.disabled = true;
        model.send({ kind: "spend", offer: content.offer });
      };
      say(content.offer ? "" : content.text || "");
    } else if (content.kind === "loaded") {
      buy.hidden = true;
      say("");
    }
    if (content.loaded) {
      const changed = content.loaded[0] !== state.loaded[0] || content.loaded[1] !== state.loaded[1];
      state.loaded = content.loaded;
      if (changed || content.again) ask();
    }
  }

  function answered(id) {
    const since = state.since.get(id);
    for (const each of state.since.keys()) if (each <= id) state.since.delete(each);
    if (id === state.id) state.out = 0;
    if (state.dirty) ask();
    if (since !== undefined) {
      requestAnimationFrame(() => root.dispatchEvent(new CustomEvent("drawn", { bubbles: true, detail: { id, ms: performance.now() - since } })));
    }
  }

  function say(text, busy) {
    state.quiet = text.startsWith("nothing answers");
    noteText.textContent = text || (about.empty && !busy ? about.empty : "");
  }

  // --- pictures
  function paint(content, index, palette, lower) {
    const { w, h } = content, made = document.createElement("canvas");
    made.width = w;
    made.height = h;
    const context = made.getContext("2d"), image = context.createImageData(w, h);
    const words = new Uint32Array(image.data.buffer), table = new Uint32Array(palette.slice().buffer);
    for (let row = 0; row < h; row++) {
      const from = (h - 1 - row) * w, to = row * w;
      for (let at = 0; at < w; at++) words[to + at] = table[index[from + at]];
    }
    context.putImageData(image, 0, 0);
    return { ...content, canvas: made, index, palette, lower };
  }

  function prepared(canvas) {
    const scale = dpr(), width = Math.round(canvas.clientWidth * scale), height = Math.round(canvas.clientHeight * scale);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    return context;
  }

  function draw() {
    if (state.frame) return;
    state.frame = requestAnimationFrame(() => {
      state.frame = 0;
      drawBase();
      drawTop();
    });
  }

  function drawBase() {
    if (!plot.clientWidth) return;
    const g = prepared(base), { w, h } = size(), ink = colours(), isDark = state.theme === "dark";
    root.style.background = ink.paper;
    root.style.color = ink.ink;
    root.style.setProperty("--mp-veil", isDark ? "#000b" : "#fffd");
    g.save();
    g.beginPath();
    g.rect(0, 0, w, h);
    g.clip();
    g.fillStyle = about.levels ? (isDark ? "#1c1c24" : "#eceef1") : ink.paper; // where a snapshot is missing
    g.fillRect(0, 0, w, h);
    const shown = state.picture;
    if (shown) {
      g.imageSmoothingEnabled = false;
      const x = xOf(shown.t0), y = yOf(shown.p1);
      g.drawImage(shown.canvas, x, y, xOf(shown.t1) - x, yOf(shown.p0) - y);
    }
    for (const [from, to] of [[-1, xOf(state.loaded[0])], [xOf(state.loaded[1]), w + 1]]) {
      if (to > 0 && from < w && to - from > 0.5) hatch(g, Math.max(from, 0), Math.min(to, w), h, isDark);
    }
    const ticks = axes(g, w, h, ink);
    drawOver(g, w, h, ink);
    g.restore();
    labels(g, ticks, w, h, ink);
  }

  function hatch(g, from, to, h, isDark) {
    g.save();
    g.beginPath();
    g.rect(from, 0, to - from, h);
    g.clip();
    g.fillStyle = isDark ? "#101016" : "#f6f7f8";
    g.fillRect(from, 0, to - from, h);
    g.strokeStyle = isDark ? "#ffffff14" : "#00000012";
    g.beginPath();
    for (let x = Math.floor((from - h) / 12) * 12; x < to; x += 12) {
      g.moveTo(x, h);
      g.lineTo(x + h, 0);
    }
    g.stroke();
    g.restore();
  }

  function axes(g, w, h, ink) {
    const { t0, t1, p0, p1 } = state.view;
    const step = niceStep(p1 - p0, h / 46), times = timeTicks(t0, t1, w / 80), prices = [];
    for (let at = Math.ceil(p0 / step); at * step <= p1; at++) prices.push(at * step);
    g.strokeStyle = ink.ink;
    g.globalAlpha = about.levels ? 0.07 : 0.1;
    g.beginPath();
    for (const [at] of times) {
      g.moveTo(Math.round(xOf(at)) + 0.5, 0);
      g.lineTo(Math.round(xOf(at)) + 0.5, h);
    }
    for (const at of prices) {
      g.moveTo(0, Math.round(yOf(at)) + 0.5);
      g.lineTo(w, Math.round(yOf(at)) + 0.5);
    }
    g.stroke();
    g.globalAlpha = 1;
    return { times, prices, step };
  }

  function labels(g, { times, prices, step }, w, h, ink) {
    g.fillStyle = ink.ink;
    g.globalAlpha = 0.75;
    g.textAlign = "left";
    for (const at of prices) if (yOf(at) > 6 && yOf(at) < h - 4) g.fillText(price(at, step), w + 7, yOf(at));
    g.textAlign = "center";
    const { t0, t1 } = state.view;
    let dated = t1 - t0 > 2 * DAY;
    for (const [at, text, strong] of times) {
      const half = g.measureText(text).width / 2 + 3;
      if (xOf(at) < half || xOf(at) > w - half) continue;
      g.globalAlpha = strong ? 1 : 0.75;
      g.fillText(text, xOf(at), h + 12);
      dated ||= strong;
    }
    g.globalAlpha = 0.75;
    g.textAlign = "left";
    g.fillText(dated ? "UTC" : `${dayOf((t0 + t1) / 2)} UTC`, w + 7, h + 12, AXIS.right - 9);
    g.globalAlpha = 0.25;
    g.strokeStyle = ink.ink;
    g.strokeRect(-0.5, -0.5, w + 1, h + 1);
    g.globalAlpha = 1;
  }

  // --- what lies over the pixels
  function drawOver(g, w, h, ink) {
    if (state.profile && state.beside) drawProfile(g, w, state.profile, ink);
    const over = state.over;
    if (!over) return;
    if (over.mid) trace(g, over.mid, ink.ink, 1.2, about.levels);
    const wide = over.candles && over.candles.t.length && xOf(over.candles.end[0]) - xOf(over.candles.t[0]) >= CANDLE - 0.5;
    if (over.candles && wide) drawCandles(g, over.candles, ink);
    else if (over.close) trace(g, over.close, about.levels ? ink.bought : ink.ink, 1.2, about.levels);
    else if (over.candles) trace(g, { t: over.candles.t, low: over.candles.low, high: over.candles.high, last: over.candles.close }, ink.ink, 1.2, about.levels);
    if (over.bubbles) drawBubbles(g, over.bubbles, ink);
  }

  // A line through the last value of each column, and a bar from its lowest to its highest. Where columns are dense, bars that
  // reach to the value before are the line: to stroke a long path takes several times as long.
  function trace(g, line, colour, width, halo) {
    const { t, last, low, high } = line, path = new Path2D(), bars = [];
    const apart = t.length > 1 ? (xOf(t[t.length - 1]) - xOf(t[0])) / (t.length - 1) : Infinity, dense = apart < DENSE;
    let before = NaN;
    for (let at = 0; at < t.length; at++) {
      if (Number.isNaN(last[at])) {
        before = NaN;
        continue;
      }
      const x = xOf(t[at]), y = yOf(last[at]), open = !Number.isNaN(before);
      const reaches = high[at] > low[at];
      let top = reaches ? Math.min(y, yOf(high[at])) : y, bottom = reaches ? Math.max(y, yOf(low[at])) : y;
      if (dense && open) {
        top = Math.min(top, before);
        bottom = Math.max(bottom, before);
      }
      if (dense || bottom > top) bars.push([x, top, bottom]);
      if (!dense) {
        if (open) path.lineTo(x, y);
        else path.moveTo(x, y);
        const alone = !open && (at + 1 >= t.length || Number.isNaN(last[at + 1]));
        if (alone) path.lineTo(x + 2, y);
      }
      before = y;
    }
    const stroke = (style, wide) => {
      g.fillStyle = g.strokeStyle = style;
      g.lineWidth = wide;
      const more = dense ? wide / 2 : 0, across = dense ? apart : wide;
      for (const [x, top, bottom] of bars) g.fillRect(x - across / 2, top - more, across, bottom - top + 2 * more);
      g.stroke(path);
    };
    g.lineJoin = "round";
    if (halo) stroke(state.theme === "dark" ? "#000a" : "#fffc", width + 2);
    stroke(colour, width);
  }

  function drawCandles(g, candles, ink) {
    const { t, end, open, high, low, close } = candles;
    g.lineWidth = 1;
    for (let at = 0; at < t.length; at++) {
      const left = xOf(t[at]), right = xOf(end[at]), room = (right - left) * 0.15, middle = Math.round((left + right) / 2) + 0.5;
      const from = yOf(Math.max(open[at], close[at])), to = yOf(Math.min(open[at], close[at]));
      const colour = close[at] >= open[at] ? about.up : about.down;
      g.strokeStyle = about.levels ? ink.ink : colour;
      g.fillStyle = colour;
      g.beginPath();
      g.moveTo(middle, yOf(high[at]));
      g.lineTo(middle, yOf(low[at]));
      g.stroke();
      const body = [left + room, from, Math.max(1, right - left - 2 * room), Math.max(1, to - from)];
      g.globalAlpha = about.levels ? 0.45 : 1; // what lies below stays to be seen
      g.fillRect(...body);
      g.globalAlpha = 1;
      if (about.levels && body[2] > 4) g.strokeRect(...body);
    }
  }

  function drawBubbles(g, bubbles, ink) {
    g.lineWidth = 1;
    for (let at = 0; at < bubbles.t.length; at++) {
      g.fillStyle = bubbles.sold[at] ? ink.sold : ink.bought;
      g.strokeStyle = state.theme === "dark" ? "#000c" : "#fffe";
      g.beginPath();
      g.arc(xOf(bubbles.t[at]), yOf(bubbles.price[at]), radius(bubbles.worth[at]), 0, 7);
      g.globalAlpha = 0.7;
      g.fill();
      g.globalAlpha = 1;
      g.stroke();
    }
  }

  const radius = (worth) => clamp(BUBBLE * Math.sqrt(worth / (about.largest || 1)), 1.5, BUBBLE * 2);

  function drawProfile(g, w, over, ink) {
    const { bids, asks } = over.profile, rows = bids.length;
    let most = 0;
    for (let at = 0; at < rows; at++) most = Math.max(most, bids[at] + (asks ? asks[at] : 0));
    if (!most) return;
    const room = Math.min(120, w * 0.12), height = (over.p1 - over.p0) / rows;
    g.fillStyle = state.theme === "dark" ? "#0005" : "#fff5";
    g.fillRect(w - room - 4, 0, room + 4, plot.clientHeight);
    const edge = new Path2D();
    g.globalAlpha = 0.85;
    for (let at = 0; at < rows; at++) {
      // On whole pixels: edges that meet within one would show as stripes.
      const y = Math.round(yOf(over.p0 + (at + 1) * height)), tall = Math.max(1, Math.round(yOf(over.p0 + at * height)) - y);
      const one = (bids[at] / most) * room, other = asks ? (asks[at] / most) * room : 0;
      g.fillStyle = ink.bids;
      g.fillRect(w - one, y, one, tall);
      g.fillStyle = ink.asks;
      g.fillRect(w - one - other, y, other, tall);
      edge.lineTo(w - one - other, y + tall);
      edge.lineTo(w - one - other, y);
    }
    g.strokeStyle = ink.ink; // distinguishes it from pixels of the same hue
    g.lineWidth = 0.7;
    g.stroke(edge);
    g.globalAlpha = 1;
    const words = about.profile;
    g.fillStyle = state.theme === "dark" ? "#000a" : "#fffc";
    g.fillRect(w - g.measureText(words).width - 12, 2, g.measureText(words).width + 10, 17);
    g.fillStyle = ink.ink;
    g.textAlign = "right";
    g.fillText(words, w - 7, 11);
  }

  function drawKey() {
    if (!key || !state.picture) return;
    const g = prepared(key), wide = key.clientWidth, { palette, lower, side } = state.picture, from = 2;
    const last = side === "two" ? 129 : 256, count = last - from;
    for (const [first, y, tall] of side === "two" ? [[from, 2, 5], [129, 7, 5]] : [[from, 2, 10]]) {
      for (let at = 0; at < wide; at++) {
        const place = 4 * (first + Math.min(count - 1, Math.floor((at / wide) * count)));
        g.fillStyle = `rgb(${palette[place]},${palette[place + 1]},${palette[place + 2]})`;
        g.fillRect(at, y, 1.5, tall);
      }
    }
    g.fillStyle = colours().ink;
    g.globalAlpha = 0.8;
    g.font = "10px system-ui, sans-serif";
    for (const [share, align] of [[0.02, "left"], [0.35, "center"], [0.68, "center"], [1, "right"]]) {
      const value = lower[from + Math.min(count - 1, Math.floor(share * count))];
      g.textAlign = align;
      g.fillText(`${share === 1 ? "≥ " : ""}${short(value)}`, align === "left" ? 0 : share * wide, 21);
    }
  }

  // --- under the cursor
  function volumeAt(x, y) {
    const shown = state.picture;
    if (!shown) return "";
    const t = state.view.t0 + (x / size().w) * (state.view.t1 - state.view.t0);
    const p = state.view.p1 - (y / size().h) * (state.view.p1 - state.view.p0);
    const column = Math.floor(((t - shown.t0) / (shown.t1 - shown.t0)) * shown.w);
    const row = Math.floor(((p - shown.p0) / (shown.p1 - shown.p0)) * shown.h);
    if (column < 0 || row < 0 || column >= shown.w || row >= shown.h) return "";
    const at = shown.index[row * shown.w + column], unit = about.unit ? ` ${about.unit}` : "";
    if (at === NONE) return "no snapshot";
    if (at === EMPTY) return `volume 0${unit}`;
    const half = shown.side === "two" ? (at >= 129 ? 256 : 129) : 256;
    const low = shown.lower[at];
    let next = at + 1;
    while (next < half && shown.lower[next] <= low) next++;
    if (next >= half) return `volume ≥ ${short(low)}${unit}`;
    return low ? `volume ${short(low)} – ${short(shown.lower[next])}${unit}` : `volume < ${short(shown.lower[next])}${unit}`;
  }

  function under(x, y) {
    const over = state.over || {}, { t0, t1 } = state.view, t = t0 + (x / size().w) * (t1 - t0);
    const found = [];
    const candles = over.candles;
    if (candles) {
      const at = candles.t.findIndex((start, index) => start <= t && t < candles.end[index]);
      const step = about.step || niceStep(state.view.p1 - state.view.p0, 500);
      if (at >= 0) found.push(["open", "high", "low", "close"].map((name) => `${name[0].toUpperCase()} ${price(candles[name][at], step)}`).join(" "));
    }
    const bubbles = over.bubbles;
    if (bubbles) {
      for (let at = bubbles.t.length - 1; at >= 0; at--) {
        if (Math.hypot(xOf(bubbles.t[at]) - x, yOf(bubbles.price[at]) - y) <= radius(bubbles.worth[at]) + 1) {
          found.push(`${bubbles.sold[at] ? "SELL" : "BUY"} liquidated ${short(bubbles.amount[at])} ${about.amounts}`.trim());
          break;
        }
      }
    }
    return found;
  }

  function drawTop() {
    if (!plot.clientWidth) return;
    const g = prepared(top), { w, h } = size(), ink = colours();
    if (state.box) {
      const { x0, y0, x1, y1 } = state.box;
      g.fillStyle = "#4c8dff33";
      g.strokeStyle = "#4c8dff";
      g.fillRect(x0, y0, x1 - x0, y1 - y0);
      g.strokeRect(x0, y0, x1 - x0, y1 - y0);
    }
    if (!state.mouse) return;
    const { x, y } = state.mouse, { t0, t1, p0, p1 } = state.view;
    if (x > w || y > h) return;
    g.strokeStyle = ink.ink;
    g.globalAlpha = 0.6;
    g.setLineDash([4, 3]);
    g.beginPath();
    g.moveTo(0, Math.round(y) + 0.5);
    g.lineTo(w, Math.round(y) + 0.5);
    g.moveTo(Math.round(x) + 0.5, 0);
    g.lineTo(Math.round(x) + 0.5, h);
    g.stroke();
    g.setLineDash([]);
    g.globalAlpha = 1;
    const tag = (text, left, middle) => {
      const wide = g.measureText(text).width + 8;
      const from = clamp(left, 0, w + AXIS.right - wide);
      g.fillStyle = ink.ink;
      g.fillRect(from, middle - 9, wide, 18);
      g.fillStyle = ink.paper;
      g.fillText(text, from + 4, middle);
    };
    const at = p1 - (y / h) * (p1 - p0), when = t0 + (x / w) * (t1 - t0);
    const text = moment(when, (t1 - t0) / w < MINUTE ? 1 : MINUTE), value = price(at, niceStep(p1 - p0, h));
    g.textAlign = "left";
    tag(value, w + 3, y);
    tag(text, x - g.measureText(text).width / 2 - 4, h + 12);
    const words = [text, value, about.levels ? volumeAt(x, y) : "", ...under(x, y)].filter(Boolean).join("  ·  ");
    g.fillStyle = state.theme === "dark" ? "#000b" : "#fffd";
    g.fillRect(6, 6, g.measureText(words).width + 12, 20);
    g.fillStyle = ink.ink;
    g.fillText(words, 12, 16);
    root.dataset.readout = words;
  }

  // --- moving
  function fitted(view) {
    const { t0, t1, p0, p1 } = view, [from, to] = state.loaded;
    const grain = about.interval || 1000;
    const span = clamp(t1 - t0, Math.min(grain * 3, home.t1 - home.t0), Math.max(to - from, grain * 10) * 8);
    const tall = clamp(p1 - p0, Math.max((about.step || 0) * 2, Math.abs(p1) * 1e-9, 1e-12), (home.p1 - home.p0) * 60);
    const middle = clamp((t0 + t1) / 2, from - span * 0.45, to + span * 0.45), centre = (p0 + p1) / 2;
    return { t0: middle - span / 2, t1: middle + span / 2, p0: centre - tall / 2, p1: centre + tall / 2 };
  }

  // A gesture is one step of the way back, however many events it has.
  function go(view, gesture) {
    const now = performance.now();
    if (!gesture || gesture !== state.gesture || now - state.when > 700) {
      state.back.push(state.view);
      if (state.back.length > 100) state.back.shift();
    }
    state.gesture = gesture;
    state.when = now;
    move(view);
  }

  function move(view) {
    state.view = fitted(view);
    state.moved ||= performance.now();
    draw();
    ask();
  }

  function zoom(x, y, across, up, gesture) {
    const { t0, t1, p0, p1 } = state.view, { w, h } = size();
    const t = t0 + (x / w) * (t1 - t0), p = p1 - (y / h) * (p1 - p0);
    go({ t0: t - (t - t0) * across, t1: t + (t1 - t) * across, p0: p - (p - p0) * up, p1: p + (p1 - p) * up }, gesture);
  }

  function shift(across, up, gesture) {
    const { t0, t1, p0, p1 } = state.view, t = (t1 - t0) * across, p = (p1 - p0) * up;
    go({ t0: t0 + t, t1: t1 + t, p0: p0 + p, p1: p1 + p }, gesture);
  }

  function cycle(what) {
    const order = what === "side" ? Object.keys(SIDES) : what === "scale" ? SCALES : ["dark", "light"];
    state[what] = order[(order.indexOf(state[what]) + 1) % order.length];
    if (sideButton) sideButton.textContent = SIDES[state.side];
    if (scaleButton) scaleButton.textContent = state.scale;
    themeButton.textContent = state.theme;
    state.out = 0;
    draw();
    ask();
  }

  function beside() {
    state.beside = !state.beside;
    draw();
  }

  function fullscreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else if (root.requestFullscreen) root.requestFullscreen().catch(() => say("this program has no full screen"));
  }

  const place = (event) => {
    const box = plot.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  plot.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { x, y } = place(event), { w, h } = size();
    const unit = event.deltaMode === 1 ? 33 : event.deltaMode === 2 ? 400 : 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return shift((event.deltaX * unit) / w, 0, "wheel");
    const factor = Math.exp(clamp(event.deltaY * unit, -300, 300) * 0.0016);
    zoom(Math.min(x, w), Math.min(y, h), x > w ? 1 : factor, y > h || event.altKey ? 1 : factor, "wheel");
  }, { passive: false });

  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || noteBox.contains(event.target)) return;
    root.focus({ preventScroll: true });
    plot.setPointerCapture(event.pointerId);
    state.grip = { ...place(event), view: state.view, box: event.shiftKey, moved: false };
  });

  plot.addEventListener("pointermove", (event) => {
    state.mouse = place(event);
    const grip = state.grip;
    if (grip) {
      const { x, y } = state.mouse, { w, h } = size(), { t0, t1, p0, p1 } = grip.view;
      if (!grip.moved && Math.hypot(x - grip.x, y - grip.y) < 3) return;
      const first = !grip.moved;
      grip.moved = true;
      if (grip.box) state.box = { x0: grip.x, y0: grip.y, x1: clamp(x, 0, w), y1: clamp(y, 0, h) };
      else {
        const t = ((grip.x - x) / w) * (t1 - t0), p = ((y - grip.y) / h) * (p1 - p0);
        const next = { t0: t0 + t, t1: t1 + t, p0: p0 + p, p1: p1 + p };
        if (first) go(next, "drag");
        else move(next);
      }
    }
    if (!state.frame) state.frame = requestAnimationFrame(() => {
      state.frame = 0;
      if (state.grip && !state.grip.box) drawBase();
      drawTop();
    });
  });

  const release = () => {
    const box = state.box;
    state.grip = null;
    state.box = null;
    state.gesture = "";
    if (box && Math.abs(box.x1 - box.x0) > 4 && Math.abs(box.y1 - box.y0) > 4) {
      const { t0, t1, p0, p1 } = state.view, { w, h } = size();
      const [left, right] = [box.x0, box.x1].sort((a, b) => a - b), [up, down] = [box.y0, box.y1].sort((a, b) => a - b);
      go({ t0: t0 + (left / w) * (t1 - t0), t1: t0 + (right / w) * (t1 - t0), p0: p1 - (down / h) * (p1 - p0), p1: p1 - (up / h) * (p1 - p0) });
    } else draw();
  };
  plot.addEventListener("pointerup", release);
  plot.addEventListener("pointercancel", release);
  plot.addEventListener("pointerleave", () => {
    state.mouse = null;
    draw();
  });
  plot.addEventListener("dblclick", (event) => {
    if (noteBox.contains(event.target)) return;
    move(state.back.pop() || home);
  });

  const KEYS = {
    ArrowLeft: () => shift(-0.1, 0, "key"), ArrowRight: () => shift(0.1, 0, "key"),
    ArrowUp: () => shift(0, 0.1, "key"), ArrowDown: () => shift(0, -0.1, "key"),
    "+": () => zoom(size().w / 2, size().h / 2, 0.8, 0.8, "key"), "-": () => zoom(size().w / 2, size().h / 2, 1.25, 1.25, "key"),
    "0": () => go(home), Home: () => go(home), Backspace: () => move(state.back.pop() || home),
    b: () => about.sides && cycle("side"), s: () => about.levels && cycle("scale"), d: () => cycle("theme"), p: beside, f: fullscreen,
  };
  KEYS["="] = KEYS["+"];
  root.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "BUTTON") return;
    event.preventDefault();
    event.stopPropagation(); // a notebook has keys of its own
    act();
  });

  const resized = new ResizeObserver(() => {
    drawKey();
    draw();
    ask();
  });
  resized.observe(plot);
  model.on("msg:custom", heard);

  const end = () => {
    resized.disconnect();
    model.off("msg:custom", heard);
    clearTimeout(state.again);
    clearTimeout(state.silent);
    cancelAnimationFrame(state.frame);
    root.remove();
  };
  if (signal) signal.addEventListener("abort", end);
  return end;
}

export default { render };
