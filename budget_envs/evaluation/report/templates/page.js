"use strict";

/** Returns a new element with a class and a text; texts are never read as markup. */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Returns the value of one of the page's JSON blocks. */
function embedded(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

/** Replaces the options of a select by [value, text] pairs; keeps the chosen value if it can. */
function setOptions(select, pairs) {
  const before = select.value;
  select.replaceChildren(...pairs.map(([value, text]) => {
    const option = element("option", "", text);
    option.value = value;
    return option;
  }));
  if (pairs.some(([value]) => String(value) === before)) select.value = before;
}

/** Returns a share as percent with one decimal, a dash where there is none. */
function percent(share) {
  return share === null || Number.isNaN(share) ? "–" : (100 * share).toFixed(1);
}

/** Lets the reader choose K, and hide curves by a click on the legend. */
function startCharts(section) {
  for (const radio of section.querySelectorAll(".choice input")) {
    radio.addEventListener("change", () => {
      for (const chart of section.querySelectorAll("[data-k]")) chart.hidden = chart.dataset.k !== radio.value;
    });
  }
  for (const button of section.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const isShown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(isShown));
      for (const curve of section.querySelectorAll(`.curve[data-run="${button.dataset.run}"]`)) {
        curve.classList.toggle("hidden", !isShown);
      }
    });
  }
}

for (const section of document.querySelectorAll(".comparison")) startCharts(section);
