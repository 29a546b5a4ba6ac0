// Put first into a copy of the page: what goes wrong from here on is counted.
window.wrong = [];
addEventListener('error', event => window.wrong.push('error: ' + event.message));
addEventListener('unhandledrejection', event => window.wrong.push('rejection: ' + event.reason));
addEventListener('securitypolicyviolation', event => window.wrong.push('refused: ' + event.blockedURI));
['error', 'warn'].forEach(kind => {
  console[kind] = (...words) => window.wrong.push(kind + ': ' + words.join(' '));
});
