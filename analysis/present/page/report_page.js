// The tables of pages, which sort and copy, and the switch of colours. See page_drawing.js.

function sortBy(head) {
  const body = head.closest("table").tBodies[0], column = head.cellIndex;
  const isNumber = !head.classList.contains("t"), was = head.getAttribute("aria-sort");
  const sign = (was ? was === "ascending" : isNumber) ? -1 : 1;
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", sign < 0 ? "descending" : "ascending");
  const value = row => isNumber ? +row.cells[column].dataset.v : row.cells[column].textContent;
  const compare = isNumber ? (a, b) => a - b : (a, b) => a.localeCompare(b, "en", {numeric: true});
  body.append(...[...body.rows].sort((a, b) => sign * compare(value(a), value(b))));
}

/** The table for a spreadsheet: numbers in full, times in nanoseconds. */
function tableText(table) {
  const headOf = ({textContent, dataset}) => textContent + (dataset.unit ? ` (${dataset.unit})` : "");
  const textOf = ({textContent, dataset}) => dataset.v ?? textContent;
  const lineOf = (row, each) => [...row.cells].map(each).join("\t") + "\n";
  return lineOf(table.tHead.rows[0], headOf) +
         [...table.tBodies[0].rows].map(row => lineOf(row, textOf)).join("");
}

async function copy(button, text) {
  const isDone = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  button.textContent = isDone ? "copied" : "not allowed";
  setTimeout(() => { button.textContent = "copy"; }, 1200);
}

function redrawAll() { for (const chart of page.charts) chart.draw(); }

document.addEventListener("click", event => {
  const button = event.target.closest("button"), choice = button?.dataset.themeChoice;
  if (!button) return;
  if (choice) {
    if (choice === "auto") delete root.dataset.theme;
    else root.dataset.theme = choice;
    for (const other of button.parentNode.children) other.ariaPressed = String(other === button);
    redrawAll();
  } else if (button.closest("th")) {
    sortBy(button.closest("th"));
  } else if (button.classList.contains("copy")) {
    copy(button, tableText(button.parentNode.querySelector("table")));
  } else if (button.classList.contains("copy-text")) {
    copy(button, button.parentNode.querySelector("code").textContent);
  }
});
darkQuery.addEventListener("change", redrawAll);
addEventListener("beforeprint", () => { page.printing = true; redrawAll(); });
addEventListener("afterprint", () => { page.printing = false; redrawAll(); });
for (const figure of document.querySelectorAll("figure.chart")) page.charts.push(new Chart(figure));
redrawAll();
root.dataset.ready = "true";
