/** The table of tasks: one row per task, sortable, filterable, drawn from the JSON block. */
(function () {
  const section = document.getElementById("tasks");
  if (!section) return;
  const STEP = 25;
  const comparisons = embedded("task-table");
  const find = (name) => document.getElementById(`tasks-${name}`);
  const table = find("table");
  const state = { comparison: 0, column: "task", descending: false, limit: STEP };

  const current = () => comparisons[state.comparison];
  const column = () => current().budgets.indexOf(Number(find("budget").value));

  /** Returns the share solved of one task by one run at a budget; null without a judged episode. */
  function rate(run, task, budget) {
    const judged = run.judged[task][budget];
    return judged ? run.successes[task][budget] / judged : null;
  }

  function isWanted(task) {
    const { runs, task_ids: names } = current();
    const budget = column();
    const solvers = runs.filter((run) => rate(run, task, budget) > 0).length;
    const judges = runs.filter((run) => rate(run, task, budget) !== null).length;
    const kinds = {
      all: true,
      none: solvers === 0 && judges > 0,
      some: solvers > 0 && solvers < judges,
      void: runs.some((run) => run.void[task].some((count) => count > 0)),
    };
    return kinds[find("kind").value] && names[task].toLowerCase().includes(find("filter").value.toLowerCase());
  }

  /** Returns what tasks are sorted by. */
  function sortKey(task) {
    const { runs, bounds, task_ids: names } = current();
    if (state.column === "task") return names[task];
    return state.column === "bound" ? bounds[task][column()] : rate(runs[state.column], task, column());
  }

  function compare(a, b) {
    const [x, y] = [sortKey(a), sortKey(b)];
    if (x === y) return a - b;
    if (x === null || y === null) return x === null ? 1 : -1; // what is undefined comes last
    return (x < y ? -1 : 1) * (state.descending ? -1 : 1);
  }

  function header(name, key) {
    const cell = element("th");
    cell.scope = "col";
    const isSorted = state.column === key;
    cell.setAttribute("aria-sort", isSorted ? (state.descending ? "descending" : "ascending") : "none");
    const button = element("button", "", name);
    button.type = "button";
    button.addEventListener("click", () => {
      state.descending = isSorted ? !state.descending : key !== "task";
      state.column = key;
      draw();
      table.querySelector(`[aria-sort="${state.descending ? "descending" : "ascending"}"] button`).focus();
    });
    cell.append(button);
    return cell;
  }

  function drawHead() {
    const row = element("tr");
    row.append(header("Task", "task"));
    if (hasBounds()) row.append(header("Bound", "bound"));
    current().runs.forEach((run, place) => row.append(header(run.label, place)));
    const last = element("th", "", "");
    last.append(element("span", "part", "Trajectories"));
    last.scope = "col";
    row.append(last);
    table.tHead.replaceChildren(row);
  }

  const hasBounds = () => current().bounds.some((row) => row.some((bound) => bound !== null));

  function runCell(run, place, task) {
    const cell = element("td", `s${place % 8}`);
    const budget = column();
    const share = rate(run, task, budget);
    const bar = element("span", "bar");
    const fill = element("i");
    fill.style.width = `${100 * (share || 0)}%`;
    bar.append(fill);
    const judged = run.judged[task][budget];
    const counts = judged === null ? "" : `${run.successes[task][budget]}/${judged}`;
    const voids = run.void[task][budget] ? ` +${run.void[task][budget]} void` : "";
    cell.append(bar, element("span", "rate", percent(share)), " ", element("span", "part", counts + voids), squares(run, task));
    return cell;
  }

  function squares(run, task) {
    const strip = element("span", "budgets");
    strip.setAttribute("aria-hidden", "true");
    current().budgets.forEach((budget, place) => {
      const share = rate(run, task, place);
      const square = element("i", share === null ? "hx" : `h${Math.round(10 * share)}`);
      square.title = `T = ${budget}: ${percent(share)} %`;
      strip.append(square);
    });
    return strip;
  }

  function row(task) {
    const made = element("tr");
    const name = element("th", "mono");
    const frame = element("span", "task");
    frame.append(element("span", "", current().task_ids[task]));
    name.append(frame);
    name.scope = "row";
    name.title = current().task_ids[task];
    made.append(name);
    if (hasBounds()) made.append(element("td", "", percent(current().bounds[task][column()])));
    current().runs.forEach((run, place) => made.append(runCell(run, place, task)));
    const cell = element("td");
    if (window.trajectoryViewer && window.trajectoryViewer.has(state.comparison, task)) {
      const button = element("button", "view", "View");
      button.type = "button";
      button.setAttribute("aria-label", `View trajectories of task ${current().task_ids[task]}`);
      const budget = current().budgets[column()];
      button.addEventListener("click", () => window.trajectoryViewer.show(state.comparison, task, budget));
      cell.append(button);
    }
    made.append(cell);
    return made;
  }

  function draw() {
    const tasks = current().task_ids.map((_, place) => place).filter(isWanted).sort(compare);
    const shown = tasks.slice(0, state.limit);
    drawHead();
    table.tBodies[0].replaceChildren(...shown.map(row));
    table.caption.firstElementChild.textContent = `Solved within T = ${find("budget").value}, in % of judged episodes: ${current().name}`;
    find("count").textContent = `${tasks.length} of ${current().task_ids.length} tasks` + (shown.length < tasks.length ? `, the first ${shown.length} shown` : "");
    find("more").hidden = shown.length === tasks.length;
  }

  function changeComparison() {
    state.comparison = Number(find("comparison") ? find("comparison").value : 0);
    Object.assign(state, { column: "task", descending: false, limit: STEP });
    const { budgets } = current();
    setOptions(find("budget"), budgets.map((budget) => [budget, budget]));
    find("budget").value = budgets[budgets.length - 1];
    draw();
  }

  for (const name of ["budget", "kind", "filter"]) find(name).addEventListener("input", draw);
  if (find("comparison")) find("comparison").addEventListener("input", changeComparison);
  find("more").addEventListener("click", () => { state.limit += 4 * STEP; draw(); });
  window.addEventListener("load", changeComparison); // the viewer is there by then
})();
