// Put last into a copy of the page: uses it like a reader and tells the page around it what it found.
addEventListener('load', () => setTimeout(() => {
  const root = document.documentElement;
  const wrong = window.wrong;
  const figures = JSON.parse(document.getElementById('data').textContent).figures;
  const expect = (holds, what) => {
    if (!holds) wrong.push(what);
  };
  const marks = chart => chart.querySelectorAll('svg path').length;
  const shown = element => element.getClientRects().length > 0;

  function everyChartIsDrawn(when) {
    figures.forEach(figure => figure.panels.forEach((points, i) => {
      const chart = document.getElementById(figure.id + '-' + i);
      const name = when + ': chart ' + chart.id;
      if (!shown(chart)) {
        expect(chart.closest('details:not([open])'), name + ' is hidden');
        return;
      }
      const svg = chart.querySelector('svg');
      expect(svg, name + ' is not drawn');
      if (svg) {
        const box = svg.getBoundingClientRect();
        expect(box.width > 150 && box.height > 50, name + ' is ' + box.width + ' by ' + box.height);
        expect(box.width <= chart.clientWidth + 1, name + ' is wider than its place');
        const scale = figure.scales.includes(root.dataset.scale) ? root.dataset.scale : 'absolute';
        const off = new Set([...document.getElementById(figure.id).querySelectorAll('.legend button[aria-pressed=false]')]
          .map(button => Number(button.dataset.series)));
        const drawn = points.filter(point => point[scale] && !off.has(point.s)).length;
        expect(marks(chart) > drawn, name + ' has ' + marks(chart) + ' marks for ' + drawn + ' points');
        expect(drawn > 0 || off.size > 0 || svg.textContent.includes('was measured there'), name + ' does not say why it is empty');
        expect(!svg.outerHTML.includes('NaN'), name + ' has NaN');
      }
    }));
  }

  function nothingSticksOut(when) {
    expect(root.scrollWidth <= innerWidth, when + ': ' + root.scrollWidth + ' px on a page of ' + innerWidth);
  }

  function tablesHaveTheSameFigures() {
    figures.forEach(figure => {
      const table = document.getElementById(figure.id).querySelector('table');
      const cells = [...table.querySelectorAll('td')].filter(td => td.textContent.trim() !== '');
      const points = figure.panels.flat().length;
      expect(cells.length === points, figure.id + ': ' + cells.length + ' cells for ' + points + ' points');
    });
    document.querySelectorAll('table').forEach(table => {
      expect(table.caption && table.caption.textContent !== '', 'a table has no caption');
      table.querySelectorAll('th').forEach(th => expect(th.getAttribute('scope'), 'a heading has no scope'));
    });
  }

  function assistiveTechnologyIsTold() {
    document.querySelectorAll('.chart').forEach(chart =>
      expect(chart.getAttribute('role') === 'img' && chart.getAttribute('aria-label'), chart.id + ' has no label'));
    document.querySelectorAll('.scroll').forEach(scroll =>
      expect(scroll.tabIndex === 0 && scroll.getAttribute('aria-label'), 'a table cannot be scrolled by keyboard'));
    const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
    // ECharts calls every background 0.
    ids.filter((id, i) => ids.indexOf(id) !== i && id !== '0').forEach(id => wrong.push('an id is there twice: ' + id));
    document.querySelectorAll('[aria-labelledby]').forEach(element =>
      expect(document.getElementById(element.getAttribute('aria-labelledby')), 'a label is missing'));
  }

  function everyScaleCanBeChosen() {
    document.querySelectorAll('input[name=scale]').forEach(radio => {
      radio.focus();
      expect(document.activeElement === radio || !shown(radio), 'a scale cannot be reached by keyboard');
      radio.click();
      expect(root.dataset.scale === radio.value, 'scale ' + radio.value + ' cannot be chosen');
      everyChartIsDrawn(radio.value);
      nothingSticksOut(radio.value);
      document.querySelectorAll('details.table[open] td').forEach(td => {
        const spans = [...td.children].filter(child => child.tagName === 'SPAN' && child.className);
        expect(spans.length === 0 || spans.filter(shown).length <= 1, 'a cell shows two scales');
      });
    });
    document.querySelector('input[value=absolute]').click();
  }

  function aSeriesCanBeHidden() {
    const button = document.querySelector('.legend button[data-series][aria-pressed=true]');
    if (button) {
      const charts = [...button.closest('figure').querySelectorAll('.chart')];
      const count = () => charts.reduce((sum, chart) => sum + marks(chart), 0);
      const before = count();
      button.click();
      expect(button.getAttribute('aria-pressed') === 'false', 'a series says that it is shown');
      expect(count() < before, 'a hidden series is still drawn');
      button.click();
      expect(count() === before, 'a series does not come back');
    }
  }

  function manyLinesAreFewAtFirst() {
    document.querySelectorAll('.legend .all').forEach(all => {
      const buttons = [...all.parentElement.querySelectorAll('[data-series]')];
      const pressed = () => buttons.filter(button => button.getAttribute('aria-pressed') === 'true').length;
      const before = pressed();
      expect(before > 0 && before <= 6, 'a chart begins with ' + before + ' of ' + buttons.length + ' lines');
      all.click();
      expect(pressed() === buttons.length, 'all: ' + pressed() + ' of ' + buttons.length);
      everyChartIsDrawn('all lines');
      all.click();
      expect(pressed() === before, 'fewer: ' + pressed() + ' lines, ' + before + ' before');
    });
  }

  everyChartIsDrawn('at first');
  nothingSticksOut('at first');
  tablesHaveTheSameFigures();
  assistiveTechnologyIsTold();
  document.querySelectorAll('details').forEach(details => { details.open = true; });
  setTimeout(() => {
    everyChartIsDrawn('all open');
    nothingSticksOut('all open');
    everyScaleCanBeChosen();
    aSeriesCanBeHidden();
    manyLinesAreFewAtFirst();
    document.querySelectorAll('details').forEach(details => { details.open = false; });
    setTimeout(() => {
      dispatchEvent(new Event('beforeprint'));
      expect(document.querySelectorAll('details:not([open])').length === 0, 'print: something is closed');
      everyChartIsDrawn('print');
      dispatchEvent(new Event('afterprint'));
      expect(document.querySelectorAll('details[open]').length === 0, 'after print: something is open');
      parent.postMessage(JSON.stringify({
        wrong,
        width: innerWidth,
        charts: document.querySelectorAll('.chart').length,
        elsewhere: performance.getEntriesByType('resource').length,
      }), '*');
    }, 300);
  }, 300);
}, 600));
