// SPDX-License-Identifier: Apache-2.0
// Draws the charts from the page's own data. Nothing is loaded from anywhere.
(function () {
  'use strict';

  const figures = JSON.parse(document.getElementById('data').textContent).figures;
  const root = document.documentElement;
  const charts = [];
  const BARS_UP_TO = 12;   // a bar starts at zero; where the largest is so many times the median, dots on a log axis
  const TEN_RATHER_THAN_TWO = 500;
  const NARROW = 430;
  const LABEL = 80;        // px that a figure beside its bar may take
  let animate = true;

  const css = name => getComputedStyle(root).getPropertyValue(name).trim();
  const hue = series => css('--hue' + series.hue);

  function number(value) {
    const size = Math.abs(value);
    if (size === 0) return '0';
    if (size < 0.01) return value.toPrecision(1);
    if (size < 10) return value.toFixed(2);
    if (size < 100) return value.toFixed(1);
    if (size < 10000) return value.toFixed(0);
    return size < 1e6 ? (value / 1e3).toFixed(0) + ' k' : (value / 1e6).toFixed(1) + ' M';
  }

  /** Ticks are round already. */
  function tick(value) {
    const size = Math.abs(value);
    const [unit, suffix] = size >= 1e6 ? [1e6, ' M'] : size >= 1e4 ? [1e3, ' k'] : [1, ''];
    return Number((value / unit).toPrecision(4)) + suffix;
  }

  function times(value) {
    return (value < 0.01 && value > 0 ? '<0.01' : value < 10 ? value.toFixed(2) : number(value)) + '×';
  }

  /** The chosen scale, or as measured where a figure has no other. */
  const scaleOf = figure => figure.scales.includes(root.dataset.scale) ? root.dataset.scale : 'absolute';

  function visible(figure) {
    return figure.panels.map(points => points.filter(p => !figure.hidden.has(p.s) && p[scaleOf(figure)]));
  }

  /** What an axis has to show, of the panels that share it; `positive` when a log axis is possible. */
  function extent(figure, facet) {
    const scale = scaleOf(figure);
    const all = visible(figure).filter((_, i) => facet === undefined || figure.facets[i] === facet).flat().map(p => p[scale]);
    const values = all.map(([v]) => v).sort((a, b) => a - b);
    return {
      unit: 1,
      positive: !figure.linear && values.length > 0 && values[0] > 0,
      most: values[values.length - 1],
      median: values[values.length >> 1],
      low: Math.min(...all.map(low)),
      high: Math.max(...all.map(([v, s]) => v + Math.min(s, v / 2))),
    };
  }

  /** The lower end of an error bar on a log axis, which has no zero. Longer bars leave the chart. */
  function low([v, s]) {
    return v > 0 ? Math.max(v - s, v / 1.5) : v - s;
  }

  /** Room for the labels, and an axis that ends at a tick. */
  function roundUp(range, room) {
    const end = range.high > 0 ? range.high * room : 1;
    const power = Math.pow(10, Math.floor(Math.log10(end / 4)));
    range.step = [1, 2, 2.5, 4, 5, 10].map(m => m * power).find(step => step * 5 >= end);
    range.max = Math.ceil(end / range.step) * range.step;
  }

  function valueAxis(log, range, fromZero) {
    const axis = {
      axisLabel: { color: css('--quiet'), fontFamily: css('--font'), hideOverlap: true, formatter: value => tick(value * range.unit) },
      axisLine: { show: false },
      axisTick: { show: false },
      splitLine: { lineStyle: { color: css('--grid') } },
      minorSplitLine: { show: false },
    };
    if (!log) {
      return Object.assign(axis, { type: 'value', min: fromZero ? 0 : undefined, max: range.max, interval: range.step, splitNumber: 4 });
    }
    const exponent = value => Math.log(value / range.unit) / Math.log(range.base);
    return Object.assign(axis, {
      type: 'log', logBase: range.base, splitNumber: 6,
      min: Math.pow(range.base, Math.floor(exponent(range.low) + 1e-9)),
      max: Math.pow(range.base, Math.ceil(exponent(range.high) - 1e-9)),
    });
  }

  /**
   * A log axis has its ticks at powers of its base. Decades where they are many, else doublings from a power of ten
   * (100, 200, 400 ...): the axis then counts in that power, and so must the data.
   */
  function logarithmic(range) {
    range.base = range.high / range.low > TEN_RATHER_THAN_TWO ? 10 : 2;
    range.unit = range.base === 10 ? 1 : Math.pow(10, Math.floor(Math.log10(range.low) + 1e-9));
    return range;
  }

  function categoryAxis(keys, extra) {
    return Object.assign({
      type: 'category',
      data: keys,
      axisLine: { lineStyle: { color: css('--line') } },
      axisTick: { show: false },
      axisLabel: { color: css('--ink'), fontFamily: css('--font') },
    }, extra);
  }

  function tip(head, rows) {
    const box = document.createElement('div');
    box.className = 'tip';
    box.append(document.createElement('b'));
    box.firstChild.textContent = head;
    const table = box.appendChild(document.createElement('table'));
    rows.forEach(cells => {
      const row = table.insertRow();
      cells.forEach(cell => {
        row.insertCell().append(cell);
      });
    });
    return box;
  }

  function dot(series) {
    const mark = document.createElement('span');
    mark.className = 'hue' + series.hue;
    mark.textContent = '● ';
    const name = document.createElement('span');
    name.append(mark, series.name || 'others');
    return name;
  }

  function described(figure, point) {
    const [v, s] = point[scaleOf(figure)];
    const unit = scaleOf(figure) === 'absolute' ? ' ' + figure.unit : ' ×';
    return number(v) + (s > 0 ? ' ± ' + number(s) : '') + unit;
  }

  /** A publication has no JNI call and no floor. */
  const NOTHING = { peer: 'No peer was measured there', jni: 'No JNI call was measured there', floor: 'No floor was measured there' };

  function common(figure, points) {
    return {
      graphic: points.length > 0 || figure.hidden.size > 0 ? [] : [{
        type: 'text', left: 'center', top: 'middle', silent: true,
        style: { text: NOTHING[scaleOf(figure)], fill: css('--quiet'), font: '13px ' + css('--font') },
      }],
      animation: animate,
      animationDuration: 250,
      textStyle: { fontFamily: css('--font') },
      aria: { enabled: false },
      tooltip: {
        confine: true,
        backgroundColor: css('--paper'),
        borderColor: css('--line'),
        textStyle: { color: css('--ink') },
        transitionDuration: 0,
      },
    };
  }

  // ---- bars, or dots where bars would hide the small ones

  function bars(figure, index, width) {
    const scale = scaleOf(figure);
    const points = visible(figure)[index];
    const range = extent(figure);
    const log = range.positive && range.most / range.median > BARS_UP_TO;
    const keys = figure.keys.filter((_, k) => points.some(p => p.k === k));
    const narrow = width < NARROW;
    if (log) {
      range.high *= 1.5;
      logarithmic(range);
    } else {
      roundUp(range, narrow ? 1.3 : 1.22);
    }
    const bySeries = figure.series.map((series, s) => ({ series, s, points: points.filter(p => p.s === s) }))
      .filter(each => each.points.length > 0);
    bySeries.forEach(each => {
      each.labels = each.points.map(p =>
        number(p[scale][0]) + (scale === 'absolute' && !narrow && p.peer ? '   ' + times(p.peer[0]) : ''));
    });
    const slots = k => bySeries.filter(each => each.points.some(p => p.k === k)).map(each => each.s);
    const mostSlots = Math.max(1, ...figure.keys.map((_, k) => slots(k).length));
    const option = Object.assign(common(figure, points), {
      grid: { left: 4, right: log ? 26 : 14, top: 4, bottom: 4, containLabel: true },
      xAxis: valueAxis(log, range, true),
      yAxis: categoryAxis(keys, {
        inverse: true,
        axisLabel: {
          color: css('--ink'), fontFamily: css('--font'), fontSize: 12, lineHeight: 14,
          width: Math.min(230, width * 0.4), overflow: 'break', interval: 0,
        },
      }),
      series: bySeries.map(({ series, s, points: own, labels }) => ({
        type: 'custom',
        name: series.name,
        color: hue(series),
        data: own.map(p => [...p[scale].map(v => v / range.unit), keys.indexOf(figure.keys[p.k]), p.k]),
        encode: { x: 0, y: 2, tooltip: [0] },
        renderItem: (params, api) => bar(labels[params.dataIndex], series, s, params.coordSys, api, slots, mostSlots, log),
      })),
    });
    option.tooltip.formatter = item => {
      const p = bySeries[item.seriesIndex].points[item.dataIndex];
      return tip(figure.keys[p.k], [[dot(bySeries[item.seriesIndex].series), described(figure, p)]]);
    };
    return option;
  }

  function bar(label, series, s, area, api, slots, mostSlots, log) {
    const value = api.value(0);
    const spread = api.value(1);
    const row = api.value(2);
    const band = api.size([0, 1])[1];
    const thick = Math.min(18, band * 0.82 / mostSlots);
    const own = slots(api.value(3));
    const shift = (own.indexOf(s) - (own.length - 1) / 2) * thick;
    const [x, middle] = api.coord([value, row]);
    const y = middle + shift;
    const children = [];
    const color = hue(series);
    if (log) {
      children.push({ type: 'circle', shape: { cx: x, cy: y, r: 5 }, style: { fill: color } });
    } else {
      const [zero] = api.coord([0, row]);
      children.push({
        type: 'rect',
        shape: { x: zero, y: y - thick * 0.42, width: Math.max(1, x - zero), height: thick * 0.84, r: [0, 2, 2, 0] },
        style: { fill: color },
      });
    }
    let end = x;
    if (spread > 0) {
      const [from] = api.coord([log ? low([value, spread]) : Math.max(0, value - spread), row]);
      const right = area.x + area.width;
      const to = Math.min(right, api.coord([value + spread, row])[0]);
      end = to > right - LABEL ? x : to;
      const cap = Math.min(4, thick * 0.25);
      const style = { stroke: css('--ink'), lineWidth: 1, opacity: 0.75 };
      children.push(...[[from, y, to, y], [from, y - cap, from, y + cap], [to, y - cap, to, y + cap]].map(([x1, y1, x2, y2]) =>
        ({ type: 'line', shape: { x1, y1, x2, y2 }, style })));
    }
    children.push({
      type: 'text',
      x: end + (log ? 9 : 6),
      y,
      style: {
        text: label, verticalAlign: 'middle', fill: css('--ink'), stroke: css('--paper'), lineWidth: 3,
        font: '12px ' + css('--font'),
      },
    });
    return { type: 'group', children };
  }

  function barHeight(figure, index) {
    const points = figure.panels[index];
    const keys = new Set(points.map(p => p.k));
    let most = 1;
    keys.forEach(k => { most = Math.max(most, points.filter(p => p.k === k).length); });
    return 34 + keys.size * (most * 17 + 12);
  }

  // ---- lines

  function lines(figure, index, width) {
    const scale = scaleOf(figure);
    const points = visible(figure)[index];
    const range = extent(figure, figure.facets[index]);
    const percentiles = figure.form === 'percentiles';
    const xs = figure.keys.map(Number);
    const logX = !percentiles && Math.min(...xs) > 0 && Math.max(...xs) / Math.min(...xs) >= 4;
    const log = range.positive && range.most > 1 && (range.high / range.low > 4 || percentiles);
    if (log) {
      logarithmic(range);
    } else {
      [range.max, range.step] = range.most <= 1 && range.low >= 0 ? [1, 0.25] : [undefined, undefined];
    }
    const at = p => percentiles ? figure.keys[p.k] : xs[p.k];
    const xAxis = percentiles
      ? categoryAxis(figure.keys, { boundaryGap: false, axisLabel: { color: css('--quiet'), fontFamily: css('--font') } })
      : Object.assign(valueAxis(logX, { low: Math.min(...xs), high: Math.max(...xs), base: 2, unit: 1 }, false),
        logX ? {} : { min: Math.min(...xs), max: Math.max(...xs), minInterval: 1 },
        { splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: css('--line') } } });
    const bySeries = figure.series.map((series, s) => ({ series, s, points: points.filter(p => p.s === s) }))
      .filter(each => each.points.length > 0);
    bySeries.forEach(each => each.points.sort((a, b) => a.k - b.k));
    const dense = Math.max(0, ...bySeries.map(each => each.points.length)) > 12;
    const option = Object.assign(common(figure, points), {
      grid: { left: 6, right: 18, top: 10, bottom: 26, containLabel: true },
      xAxis: Object.assign(xAxis, {
        name: figure.xName, nameLocation: 'middle', nameGap: 28,
        nameTextStyle: { color: css('--quiet'), fontFamily: css('--font') },
      }),
      yAxis: valueAxis(log, range, range.low >= 0),
      series: bySeries.flatMap(({ series, points: own }) => [
        {
          type: 'line',
          name: series.name,
          data: own.map(p => [at(p), p[scale][0] / range.unit]),
          symbol: series.symbol,
          symbolSize: dense ? 4 : series.symbol === 'rect' ? 7 : 8,
          color: hue(series),
          lineStyle: { width: 2, type: series.dashed ? 'dashed' : 'solid' },
          emphasis: { focus: 'series', lineStyle: { width: 3 } },
          blur: { lineStyle: { opacity: 0.15 }, itemStyle: { opacity: 0.15 } },
          z: 3,
        },
        {
          type: 'custom',
          name: series.name,
          color: hue(series),
          silent: true,
          clip: true,
          tooltip: { show: false },
          data: own.filter(p => p[scale][1] > 0).map(p => [at(p), p[scale][0] / range.unit, p[scale][1] / range.unit]),
          encode: { x: 0, y: 1 },
          renderItem: (params, api) => whisker(api, log, css('--hue' + series.hue)),
          z: 2,
        },
      ]),
    });
    option.tooltip.trigger = 'axis';
    option.tooltip.axisPointer = { type: 'line', snap: true, lineStyle: { color: css('--quiet'), type: 'dotted' } };
    option.tooltip.formatter = items => {
      const here = Array.isArray(items) ? items : [items];
      const x = here.length > 0 ? here[0].axisValue : '';
      const shown = bySeries.map(each => ({ series: each.series, point: each.points.find(p => at(p) === x) }))
        .filter(each => each.point)
        .sort((a, b) => b.point[scale][0] - a.point[scale][0]);
      return tip(x + ' ' + (percentiles ? '' : figure.xName),
        shown.map(each => [dot(each.series), described(figure, each.point)]));
    };
    return option;
  }

  function whisker(api, log, stroke) {
    const value = api.value(1);
    const spread = api.value(2);
    const [x, from] = api.coord([api.value(0), log ? low([value, spread]) : value - spread]);
    const [, to] = api.coord([api.value(0), value + spread]);
    const style = { stroke, lineWidth: 1, opacity: 0.55 };
    return {
      type: 'group',
      children: [[x, from, x, to], [x - 3, from, x + 3, from], [x - 3, to, x + 3, to]].map(([x1, y1, x2, y2]) =>
        ({ type: 'line', shape: { x1, y1, x2, y2 }, style })),
    };
  }

  // ---- the page

  function option(chart) {
    const width = chart.element.clientWidth;
    return chart.figure.form === 'bars'
      ? bars(chart.figure, chart.index, width)
      : lines(chart.figure, chart.index, width);
  }

  function draw(chart) {
    if (chart.element.clientWidth === 0) {
      return; // in a closed <details>; drawn when that opens
    }
    chart.element.style.height = (chart.figure.form === 'bars' ? barHeight(chart.figure, chart.index) : 300) + 'px';
    if (!chart.ec) {
      chart.ec = echarts.init(chart.element, null, { renderer: 'svg' });
      // ECharts puts no size on what assistive technology would read; the label and the table say it all.
      chart.element.firstElementChild.setAttribute('aria-hidden', 'true');
    }
    if (chart.ec.getWidth() !== chart.element.clientWidth || chart.ec.getHeight() !== chart.element.clientHeight) {
      chart.ec.resize({ silent: true });
    }
    chart.ec.setOption(option(chart), { notMerge: true });
  }

  const drawAll = () => charts.forEach(draw);

  figures.forEach(figure => {
    figure.hidden = new Set(figure.hidden);
    const atFirst = [...figure.hidden];
    const element = document.getElementById(figure.id);
    const own = figure.panels.map((_, index) =>
      ({ figure, index, element: document.getElementById(figure.id + '-' + index) }));
    charts.push(...own);
    const buttons = [...element.querySelectorAll('.legend button[data-series]')];
    const all = element.querySelector('.legend .all');
    const told = all && all.textContent;
    const press = () => {
      buttons.forEach(button => button.setAttribute('aria-pressed', String(!figure.hidden.has(Number(button.dataset.series)))));
      if (all) all.textContent = figure.hidden.size === 0 ? 'show fewer' : told;
      own.forEach(draw);
    };
    if (all) {
      all.addEventListener('click', () => {
        figure.hidden = new Set(figure.hidden.size === 0 ? atFirst : []);
        press();
      });
    }
    buttons.forEach(button => {
      const s = Number(button.dataset.series);
      button.addEventListener('click', () => {
        const show = figure.hidden.has(s);
        if (show) figure.hidden.delete(s); else figure.hidden.add(s);
        press();
      });
      const point = type => () => own.forEach(chart => chart.ec &&
        chart.ec.dispatchAction({ type, seriesName: figure.series[s].name }));
      button.addEventListener('mouseenter', point('highlight'));
      button.addEventListener('mouseleave', point('downplay'));
      button.addEventListener('focus', point('highlight'));
      button.addEventListener('blur', point('downplay'));
    });
  });

  const controls = document.querySelector('.controls');
  if (figures.some(figure => figure.scales.length > 1)) {
    controls.hidden = false;
    controls.addEventListener('change', event => {
      root.dataset.scale = event.target.value;
      drawAll();
    });
    // A browser may remember the choice when the page is loaded again.
    root.dataset.scale = controls.querySelector('input:checked').value;
  }

  document.querySelectorAll('details').forEach(details => details.addEventListener('toggle', drawAll));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);

  let waiting = 0;
  let lastWidth = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth !== lastWidth) {
      lastWidth = innerWidth;
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(drawAll);
    }
  });

  let opened = [];
  addEventListener('beforeprint', () => {
    animate = false;
    opened = [...document.querySelectorAll('details:not([open])')];
    opened.forEach(details => { details.open = true; });
    root.classList.add('printing');
    drawAll();
    charts.forEach(chart => chart.ec && chart.ec.getZr().flush());
  });
  addEventListener('afterprint', () => {
    root.classList.remove('printing');
    opened.forEach(details => { details.open = false; });
    drawAll();
    animate = true;
  });

  drawAll();
}());
