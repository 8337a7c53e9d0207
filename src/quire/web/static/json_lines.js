// Where in a JSON text each value stands, by its pointer, and what is wrong with the text if it is no JSON.

export function readLines(text) {
  const lines = new Map();
  let at = 0;
  const line = (place = at) => text.slice(0, place).split("\n").length;
  const fail = (message, place = at) => { throw Object.assign(new Error(message), { line: line(place) }); };
  const space = () => { while (at < text.length && " \t\r\n".includes(text[at])) at += 1; };
  const escape = (step) => String(step).replaceAll("~", "~0").replaceAll("/", "~1");

  function string() {
    const begin = at;
    at += 1;
    while (at < text.length && text[at] !== '"') {
      if (text[at] === "\n") fail("this text has no closing quote", begin);
      at += text[at] === "\\" ? 2 : 1;
    }
    if (at >= text.length) fail("this text has no closing quote", begin);
    at += 1;
    try { return JSON.parse(text.slice(begin, at)); } catch { return fail("this text has a wrong escape", begin); }
  }

  function members(pointer, close, readOne) {
    at += 1;
    space();
    if (text[at] === close) { at += 1; return; }
    for (;;) {
      space();
      readOne();
      space();
      if (text[at] === ",") { at += 1; space(); if (text[at] === close) fail("there is a comma too many before this"); continue; }
      if (text[at] === close) { at += 1; return; }
      fail(at >= text.length ? `a ${close} is missing at the end` : `a comma or ${close} is missing before this`);
    }
  }

  function value(pointer, place = at) {
    lines.set(pointer, line(place));
    if (text[at] === "{") {
      const result = {};
      members(pointer, "}", () => {
        if (text[at] !== '"') fail("a name in quotes is missing here");
        const nameAt = at;
        const name = string();
        if (Object.hasOwn(result, name)) fail(`"${name}" is there twice`, nameAt);
        space();
        if (text[at] !== ":") fail("a colon is missing after this name");
        at += 1;
        space();
        const read = value(`${pointer}/${escape(name)}`, nameAt);
        Object.defineProperty(result, name, { value: read, enumerable: true, configurable: true, writable: true });
      });
      return result;
    }
    if (text[at] === "[") {
      const result = [];
      members(pointer, "]", () => result.push(value(`${pointer}/${result.length}`)));
      return result;
    }
    if (text[at] === '"') return string();
    const word = /^[-+.\w]+/.exec(text.slice(at, at + 400))?.[0] ?? "";
    try {
      const read = JSON.parse(word);
      at += word.length;
      return read;
    } catch { return fail(word ? `${word} is no JSON value` : "a value is missing here"); }
  }

  try {
    space();
    const read = value("");
    space();
    if (at < text.length) fail("the JSON has ended before this");
    return { value: read, lines, problem: null };
  } catch (error) {
    if (error.line === undefined) throw error;
    return { value: null, lines, problem: { line: error.line, message: error.message } };
  }
}

// The line of a pointer, or of the nearest thing above it.
export function lineOf(lines, pointer) {
  for (let place = pointer; ; place = place.slice(0, place.lastIndexOf("/"))) {
    if (lines.has(place)) return lines.get(place);
    if (!place) return 1;
  }
}
