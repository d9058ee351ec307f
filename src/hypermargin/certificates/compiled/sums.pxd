cpdef tuple enclosed_risk(samples, const double[:] costs, const double[::1] w, const double[::1] w_errors)
