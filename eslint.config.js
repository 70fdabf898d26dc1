// Rules for the page's JavaScript: undeclared and unused names, and code that cannot mean what it says.

import js from "@eslint/js";
import globals from "globals";

export default [
  {
    files: ["src/evalign/**/*.js"],
    ...js.configs.recommended,
    languageOptions: { globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      ...js.configs.recommended.rules,
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
