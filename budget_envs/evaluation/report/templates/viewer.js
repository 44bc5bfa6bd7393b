/** Steps through one trajectory, turn by turn; every text is set as text. */
(function () {
  const body = document.getElementById("viewer-body");
  if (!body || body.hidden) return;
  const { values, episodes } = embedded("trajectories");
  const comparisons = embedded("task-table");
  const find = (id) => document.getElementById(id);
  const selects = ["comparison", "run", "task", "budget", "rollout"];
  const chosen = { comparison: 0, run: 0, task: 0, budget: 0, rollout: 0 };
  let episode = episodes[0];
  let place = 0; // 0 is the first turn; the place after the last one shows the end

  const value = (index) => (index === null ? null : values[index]);

  /** Reads a turn of the JSON block. */
  function turnAt(index) {
    const [observation, action, executed, reward, invalid, budget, oracle, injected] = episode.turns[index];
    return {
      observation: value(observation), action: value(action), executed: value(executed), reward,
      isInvalid: Boolean(invalid), budget: value(budget), oracle: value(oracle), injected: value(injected),
    };
  }

  /** Returns the episodes that agree with the first `depth` choices. */
  function matching(depth) {
    return episodes.filter((each) => selects.slice(0, depth).every((name) => each[name] === chosen[name]));
  }

  function nameOf(name, number) {
    const comparison = comparisons[chosen.comparison];
    if (name === "comparison") return comparisons[number].name;
    if (name === "run") return comparison.runs[number].label;
    return name === "task" ? comparison.task_ids[number] : String(number);
  }

  /** Makes the five choices agree with what is in the page, changing as few of them as possible. */
  function settle() {
    selects.forEach((name, depth) => {
      const options = [...new Set(matching(depth).map((each) => each[name]))].sort((a, b) => a - b);
      if (!options.includes(chosen[name])) chosen[name] = name === "budget" ? options[options.length - 1] : options[0];
      const select = find(`view-${name}`);
      if (!select) return;
      setOptions(select, options.map((number) => [number, nameOf(name, number)]));
      select.value = chosen[name];
    });
    episode = matching(selects.length)[0];
    place = 0;
    drawStrip();
    draw();
  }

  function regretClass(oracle) {
    if (!oracle || oracle.regret === null) return "gx";
    return `g${[1e-6, 0.05, 0.15, 0.3, 0.5].filter((limit) => oracle.regret > limit).length}`;
  }

  function stripButton(text, className, label, index) {
    const button = element("button", className, text);
    button.type = "button";
    button.setAttribute("aria-label", label);
    button.title = label;
    button.tabIndex = -1; // arrow keys and the buttons below do the same
    button.addEventListener("click", () => goTo(index));
    return button;
  }

  function drawStrip() {
    const buttons = episode.turns.map((_, index) => {
      const turn = turnAt(index);
      const marks = [regretClass(turn.oracle), turn.injected ? "injected" : "", turn.isInvalid ? "invalid" : ""];
      const regret = turn.oracle && turn.oracle.regret !== null ? `, regret ${turn.oracle.regret.toFixed(3)}` : "";
      const labels = [`Turn ${index + 1}${regret}`, turn.injected ? "error injected" : "", turn.isInvalid ? "unreadable action" : ""];
      return stripButton(index + 1, marks.filter(Boolean).join(" "), labels.filter(Boolean).join(", "), index);
    });
    const end = stripButton(episode.verdict, `end ${episode.verdict}`, `End: ${episode.verdict}`, episode.turns.length);
    find("strip").replaceChildren(...buttons, end);
    drawOutcome();
  }

  function drawOutcome() {
    const parts = [element("strong", episode.verdict, verdictText())];
    if (episode.boundary) parts.push(element("span", "", episode.boundary === "budget" ? "out of budget" : `ended by: ${episode.boundary}`));
    parts.push(element("span", "", `${episode.turns.length} of ${episode.budget} turns`));
    if (episode.return !== null) parts.push(element("span", "", `return ${episode.return}`));
    find("outcome").replaceChildren(...parts);
  }

  function verdictText() {
    if (episode.verdict !== "pass") return episode.verdict === "fail" ? "Fail" : "Void";
    return episode.solved === 0 ? "Solved at reset" : `Pass at turn ${episode.solved}`;
  }

  function goTo(index) {
    place = Math.max(0, Math.min(index, episode.turns.length));
    draw();
  }

  function draw() {
    const isEnd = place === episode.turns.length;
    const turn = isEnd ? null : turnAt(place);
    find("observation").textContent = isEnd ? value(episode.final) : turn.observation;
    find("observation").scrollTop = 0;
    find("observation-title").textContent = isEnd ? "Last observation" : "Observation, as the agent saw it";
    find("side").replaceChildren(...(isEnd ? endParts() : turnParts(turn)));
    find("place").textContent = isEnd ? "End" : `Turn ${place + 1} of ${episode.turns.length}`;
    for (const id of ["first", "previous"]) find(id).disabled = place === 0;
    for (const id of ["next", "last"]) find(id).disabled = isEnd;
    [...find("strip").children].forEach((button, index) => {
      if (index === place) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
  }

  function titled(title, ...parts) {
    const section = element("section");
    section.append(element("h3", "", title), ...parts);
    return section;
  }

  function text(content, id) {
    const made = element("pre", "", content);
    made.dir = "auto";
    made.id = id;
    return made;
  }

  /** Returns a description list of [name, text] pairs; pairs without a text are left out. */
  function list(pairs, className) {
    const made = element("dl", className);
    for (const [name, content] of pairs) {
      if (content !== null) made.append(element("dt", "", name), element("dd", "", content));
    }
    return made;
  }

  function turnParts(turn) {
    const badges = element("p", "badges");
    if (turn.injected) badges.append(element("span", "badge error", "error injected"));
    if (turn.isInvalid) badges.append(element("span", "badge unread", "unreadable action"));
    const parts = [titled("Action", text(turn.action, "action"))];
    if (badges.childElementCount) parts[0].append(badges);
    if (turn.executed !== null && turn.executed !== turn.action) parts.push(titled("Executed", text(turn.executed, "executed")));
    if (turn.injected) parts.push(titled("Injected error", list(turn.injected, "receipt")));
    parts.push(titled("Reward and oracle", judgement(turn)));
    if (turn.budget) parts.push(titled("Budget left after this turn", ...turn.budget.map(resource)));
    return parts;
  }

  function judgement(turn) {
    const digits = (number) => (number === null ? "–" : number.toFixed(3));
    const pairs = [["Reward", turn.reward === null ? "not judged" : String(turn.reward)]];
    const oracle = turn.oracle;
    if (oracle) {
      pairs.push(["Value of the action", digits(oracle.value)], ["Best value", digits(oracle.best)]);
      pairs.push(["Regret", digits(oracle.regret)], ["Best actions", oracle.best_actions.join(", ") || null]);
    }
    return list(pairs);
  }

  function resource([name, limit, used, remaining]) {
    const made = element("div", "resource", `${name}: ${remaining} of ${limit} left, ${used} used`);
    const share = limit > 0 ? Math.max(0, Math.min(1, remaining / limit)) : 0;
    const track = element("div", "track");
    const fill = element("i", share <= 0.25 ? "low" : "");
    fill.style.width = `${100 * share}%`;
    track.append(fill);
    made.append(track);
    return made;
  }

  function endParts() {
    const pairs = [
      ["Verdict", verdictText()],
      ["Ended by", episode.boundary === "budget" ? "the budget" : episode.boundary || "the task"],
      ["Turns", String(episode.turns.length)],
      ["Return", episode.return === null ? "not judged" : String(episode.return)],
    ];
    const parts = [titled("Outcome", list(pairs))];
    if (episode.error !== null) parts.push(titled("Error", text(value(episode.error), "error")));
    return parts;
  }

  const keys = { ArrowLeft: () => place - 1, ArrowRight: () => place + 1, Home: () => 0, End: () => episode.turns.length };
  find("player").addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    goTo(keys[event.key]());
  });
  find("first").addEventListener("click", () => goTo(0));
  find("previous").addEventListener("click", () => goTo(place - 1));
  find("next").addEventListener("click", () => goTo(place + 1));
  find("last").addEventListener("click", () => goTo(episode.turns.length));
  for (const name of selects) {
    const select = find(`view-${name}`);
    if (select) select.addEventListener("input", () => { chosen[name] = Number(select.value); settle(); });
  }

  const tasksIn = new Set(episodes.map((each) => `${each.comparison}/${each.task}`));
  window.trajectoryViewer = {
    has: (comparison, task) => tasksIn.has(`${comparison}/${task}`),
    show(comparison, task, budget) {
      Object.assign(chosen, { comparison, task, budget });
      settle();
      find("viewer").scrollIntoView();
      find("player").focus({ preventScroll: true });
    },
  };
  settle();
})();
