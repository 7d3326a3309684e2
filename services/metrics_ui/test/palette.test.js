/**
 * The colours of the style sheet, against the paper and each other: contrast by WCAG 2.2; what people with a colour
 * vision deficiency see by the matrices of Machado, Oliveira and Fernandes (2009), severity 1; distances in OKLab.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { PERCENT_LINES, rateLines } from "../src/parts/lines.js";

const STYLE = "../../metrics_aggregator/src/market_spread/metrics_aggregator/static/style.css";
const css = await readFile(new URL(STYLE, import.meta.url), "utf8");
const MARKS = [
  ...["--p50", "--p95", "--p99", "--p999", "--p9999", "--max", "--rate-1", "--rate-2", "--rate-3", "--rate-4"],
  ...["--event", "--accent", "--stage-1", "--stage-2", "--stage-3", "--stage-4"],
];
const TEXTS = ["--ink", "--ink-2", "--accent", "--good", "--bad"];
const STAGES = ["--stage-1", "--stage-2", "--stage-3", "--stage-4"];
const TOLD_APART = 0.08;
const DEFICIENCIES = {
  none: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

/** @param {string} selector */
function coloursOf(selector) {
  const begin = css.indexOf(`${selector} {`);
  assert.ok(begin >= 0, selector);
  const block = css.slice(begin, css.indexOf("}", begin));
  return Object.fromEntries([...block.matchAll(/(--[\w-]+): (#[0-9a-f]{6});/g)].map(([, name, hex]) => [name, hex]));
}

const THEMES = { light: coloursOf(":root"), dark: coloursOf(':root[data-theme="dark"]') };

/** Red, green and blue, linear, 0 to 1. @param {string} hex */
function linear(hex) {
  return [1, 3, 5]
    .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
}

/** @param {string} hex */
function luminance(hex) {
  const [red, green, blue] = linear(hex);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** @param {string} one @param {string} other */
function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((first, second) => first - second);
  return (light + 0.05) / (dark + 0.05);
}

/** @param {string} hex @param {number[]} matrix */
function lab(hex, matrix) {
  const rgb = linear(hex);
  const [red, green, blue] = [0, 3, 6].map((row) =>
    Math.max(
      0,
      Math.min(
        1,
        rgb.reduce((sum, value, at) => sum + value * matrix[row + at], 0),
      ),
    ),
  );
  const [long, medium, short] = [
    Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue),
    Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue),
    Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue),
  ];
  return [
    0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short,
    1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short,
    0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short,
  ];
}

/** The least distance of two colours, whatever colours one sees. @param {string} one @param {string} other */
function apart(one, other) {
  return Math.min(
    ...Object.values(DEFICIENCIES).map((matrix) => {
      const [first, second] = [lab(one, matrix), lab(other, matrix)];
      return Math.hypot(...first.map((value, at) => value - second[at]));
    }),
  );
}

/** @template T @param {T[]} all @returns {[T, T][]} */
function pairs(all) {
  return all.flatMap((one, at) => all.slice(at + 1).map((other) => /** @type {[T, T]} */ ([one, other])));
}

test("the measures know black from white and red from green, and that not everybody does", () => {
  assert.equal(contrast("#000000", "#ffffff").toFixed(1), "21.0");
  assert.equal(contrast("#767676", "#ffffff").toFixed(2), "4.54");
  assert.ok(apart("#000000", "#ffffff") > 0.9);
  assert.ok(apart("#c00000", "#6b6b00") < TOLD_APART, "alike without red or green");
  assert.equal(apart("#336699", "#336699"), 0);
});

test("both ways to the dark theme have the same colours, and each theme has all", () => {
  assert.deepEqual(coloursOf(':root:not([data-theme="light"])'), THEMES.dark);
  assert.deepEqual(Object.keys(THEMES.dark).sort(), Object.keys(THEMES.light).sort());
});

for (const [theme, colours] of Object.entries(THEMES)) {
  test(`marks stand out from the paper, and text is read on it, ${theme}`, () => {
    const paper = colours["--paper"];
    for (const name of MARKS) {
      const stands = contrast(colours[name], paper);
      assert.ok(stands >= 3, `${name} ${stands}`);
    }
    for (const name of TEXTS) {
      for (const under of ["--paper", "--raised"]) {
        assert.ok(contrast(colours[name], colours[under]) >= 4.5, `${name} on ${under}`);
      }
    }
    assert.ok(contrast(colours["--ink"], colours["--band"]) >= 4.5, "a chosen row");
  });

  test(`lines of a chart differ in dashes or in a colour that everybody tells apart, ${theme}`, () => {
    for (const lines of [PERCENT_LINES, rateLines(Array.from({ length: 10 }, (_none, at) => `${at}`))]) {
      for (const [one, other] of pairs(lines)) {
        const dashes = JSON.stringify(one.dash) !== JSON.stringify(other.dash);
        const distance = apart(colours[one.colour], colours[other.colour]);
        assert.ok(dashes || distance >= TOLD_APART, `${one.title} and ${other.title}: ${distance.toFixed(3)}`);
      }
    }
  });

  test(`stages of an order are told apart beside each other, ${theme}`, () => {
    for (const [one, other] of pairs(STAGES)) {
      const distance = apart(colours[one], colours[other]);
      assert.ok(distance >= TOLD_APART, `${one} and ${other}: ${distance.toFixed(3)}`);
    }
  });

  test(`the heat map grows steadily away from the paper, for everybody, ${theme}`, () => {
    for (const matrix of Object.values(DEFICIENCIES)) {
      const ways = ["--paper", "--heat-0", "--heat-1", "--heat-2"].map((name) => lab(colours[name], matrix)[0]);
      const steps = ways.slice(1).map((value, at) => value - ways[at]);
      assert.ok(
        steps.every((step) => Math.sign(step) === Math.sign(steps[0]) && Math.abs(step) > 0.05),
        `${steps}`,
      );
    }
  });
}
