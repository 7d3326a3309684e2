import js from "@eslint/js";
import globals from "globals";

export default [
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  {
    rules: {
      curly: ["error", "multi-line"],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "max-lines": ["error", { max: 250, skipBlankLines: true, skipComments: true }],
      "no-implied-eval": "error",
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write"].map((property) => ({
          property,
          message: "text only ever as text: use h() of dom.js",
        })),
      ],
      "no-shadow": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
    },
  },
  {
    files: ["src/**"],
    languageOptions: { globals: { ...globals.browser, uPlot: "readonly" } },
  },
  {
    files: ["*.js", "test/**"],
    languageOptions: { globals: globals.node },
  },
];
