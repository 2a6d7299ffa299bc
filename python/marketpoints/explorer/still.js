// The model of a page without Python: answers the explorer's questions from pixels that stand in the page itself.

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The plane at half its size, again and again: a pixel is the largest of four.
function halves(plane) {
  const found = [plane];
  while (plane.w > 64 || plane.h > 64) {
    const w = (plane.w + 1) >> 1, h = (plane.h + 1) >> 1, data = new Uint8Array(w * h);
    for (let row = 0; row < plane.h; row++) {
      for (let at = 0; at < plane.w; at++) {
        const value = plane.data[row * plane.w + at], place = (row >> 1) * w + (at >> 1);
        if (value > data[place]) data[place] = value;
      }
    }
    plane = { w, h, data };
    found.push(plane);
  }
  return found;
}

// Of each pixel of a side the first and the last cell that it shows.
function cells(low, high, count, from, to, whole, scale) {
  const found = new Int32Array(count * 2);
  for (let at = 0; at < count; at++) {
    const start = ((low + ((high - low) * at) / count - from) / (to - from)) * whole;
    const end = ((low + ((high - low) * (at + 1)) / count - from) / (to - from)) * whole;
    const first = Math.max(0, Math.floor(end - start < 1 ? (start + end) / 2 : start));
    const last = end - start < 1 ? first : Math.max(first, Math.ceil(end) - 1);
    const outside = (start + end) / 2 < 0 || (start + end) / 2 >= whole;
    found[2 * at] = outside ? 1 : Math.floor(first / scale);
    found[2 * at + 1] = outside ? 0 : Math.floor(Math.min(last, whole - 1) / scale);
  }
  return found;
}

function picture(pyramid, place, view) {
  const { w, h } = view, [whole] = pyramid, data = new Uint8Array(w * h);
  const wide = ((view.t1 - view.t0) / (place.t1 - place.t0)) * (whole.w / w);
  const tall = ((view.p1 - view.p0) / (place.p1 - place.p0)) * (whole.h / h);
  const level = Math.min(pyramid.length - 1, Math.max(0, Math.floor(Math.log2(Math.min(wide, tall)))));
  const shown = pyramid[level], scale = 2 ** level;
  const columns = cells(view.t0, view.t1, w, place.t0, place.t1, whole.w, scale);
  const rows = cells(view.p0, view.p1, h, place.p0, place.p1, whole.h, scale);
  for (let row = 0; row < h; row++) {
    for (let at = 0; at < w; at++) {
      let most = 0;
      for (let r = rows[2 * row]; r <= rows[2 * row + 1]; r++) {
        for (let c = columns[2 * at]; c <= columns[2 * at + 1]; c++) most = Math.max(most, shown.data[r * shown.w + c]);
      }
      data[row * w + at] = most;
    }
  }
  return data;
}

async function still(data) {
  // By side, the widest first.
  const planes = {};
  for (const { side, place, w, h, data: text } of data.planes) {
    (planes[side] ||= []).push({ place, pyramid: halves({ w, h, data: await unpacked(text) }) });
  }
  const palettes = {};
  for (const [name, text] of Object.entries(data.palettes)) palettes[name] = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const lists = await Promise.all(data.lists.map(async ([name, count, text]) => [name, count, await unpacked(text)]));
  const hearers = new Set();
  const tell = (content, buffers) => hearers.forEach((hear) => hear(content, buffers));
  // A byte of the kept scale as that of another one with about the same volume.
  const table = (scale) => Uint8Array.from({ length: 256 }, (_, at) => {
    if (at < 2 || scale === data.scale) return at;
    const lower = data.lowers[scale], volume = data.lowers[data.scale][at];
    let found = 2;
    for (let each = 2; each < 256; each++) if (lower[each] <= volume && lower[each] > lower[found]) found = each;
    return found;
  });

  function pixels(asked) {
    const sides = asked.side === "both" || asked.side === "two" ? Object.keys(planes) : [asked.side];
    const [first, second] = sides.map((side) => {
      // The closest that holds the prices shown: it has the finest pixels.
      const { place, pyramid } = planes[side].findLast((one) => one.place.p0 <= asked.p0 && asked.p1 <= one.place.p1) || planes[side][0];
      return picture(pyramid, place, asked);
    });
    const change = table(asked.scale);
    return first.map((one, at) => {
      const other = second ? second[at] : 0, byte = change[Math.max(one, other)];
      if (asked.side !== "two" || byte < 2) return byte;
      return 2 + ((byte - 2) >> 1) + (other > one === (sides[1] === "asks") && other !== one ? 127 : 0);
    });
  }

  function lowers(asked) {
    const lower = Float32Array.from(data.lowers[asked.scale]);
    return asked.side === "two" ? lower.map((_, at) => (at < 2 ? 0 : lower[2 + 2 * ((at - 2) % 127)])) : lower;
  }

  return {
    get: (name) => data[name],
    on: (_, hear) => hearers.add(hear),
    off: (_, hear) => hearers.delete(hear),
    send(asked) {
      if (asked.kind !== "view") return;
      setTimeout(() => {
        if (data.planes.length) {
          const palette = palettes[`${asked.theme} ${asked.side}`];
          tell({ ...asked }, [pixels(asked), palette, new Uint8Array(lowers(asked).buffer)]);
        }
        const { p0, p1 } = data.place;
        tell({ ...asked, p0, p1, kind: "over", all: true, last: true, lists: lists.map(([name, count]) => [name, count]) }, lists.map((each) => each[2]));
      });
    },
  };
}

const given = JSON.parse(document.getElementById("data").textContent);
render({ model: await still(given), el: document.getElementById("view") });
