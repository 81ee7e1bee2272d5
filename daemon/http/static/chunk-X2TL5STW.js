function n(o){let{path:r,goal:t}=o?.tolerances??{path:null,goal:null};return r||t||.1}export{n as a};
